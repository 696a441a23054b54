import { formatTable } from "../../shared/table.ts";
import type { CheckRow } from "./checks.ts";

/** One line per check, grouped by provider; the first line of a group has its name. */
export function checkTable(rows: readonly CheckRow[]): string {
  return formatTable(
    ["provider", "check", "state", "ms", "detail"],
    rows.map(({ provider, check, state, durationMs, detail }, index) => [
      rows[index - 1]?.provider === provider ? "" : provider,
      check,
      state,
      durationMs === undefined ? "" : String(durationMs),
      detail,
    ]),
    [3],
  );
}
