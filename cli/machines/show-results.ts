import type { Action } from "../../actions/harness/action.ts";
import { commonInput } from "../../actions/harness/input/common-input.ts";
import { messageOf, resultLine, sentenceOf } from "../../actions/harness/result/write-result.ts";
import { writeText } from "../../actions/harness/result/write-text.ts";
import { EXIT_OK, exitCodeOf, type StopSignal } from "../../shared/contract/exit-code.ts";
import { givenValue } from "../../shared/contract/given.ts";
import type { ActionResult } from "../../shared/contract/result.ts";
import { formatSeconds } from "../../shared/duration.ts";
import type { ProgressLines } from "../../shared/progress-lines.ts";
import { formatTable } from "../../shared/table.ts";
import type { Machine } from "../../worker/machines/inventory.ts";

export type Format = "text" | "table" | "json" | "yaml";

/** As `OUTPUT` has it. */
export function formatOf(env: Readonly<Record<string, string>>): Format {
  const asked = commonInput.output.schema.parse(
    givenValue(commonInput.output.env, { env, flags: {} })?.text ?? "auto",
  );
  if (asked !== "auto") return asked;
  return process.stdout.isTTY ? "text" : "json";
}

/** Shows each result as it comes, or a table of all at the end. */
export function openOutput(
  action: Action,
  {
    format,
    machines,
    lines,
  }: {
    readonly format: Format;
    readonly machines: readonly Machine[];
    readonly lines: ProgressLines;
  },
) {
  const write = (text: string) => lines.above(() => writeText(process.stdout, text));
  const results: ActionResult[] = [];
  return {
    /** Resolves to the exit code; `by` is the signal that cancelled the action. */
    async add(result: ActionResult, by: StopSignal): Promise<number> {
      results.push(result);
      if (format === "text") {
        const table = machines.length === 1 && result.data !== undefined && action.table?.(result.data);
        const sentence = sentenceOf(result, undefined);
        await write(`${table ? `${table}\n\n` : ""}${sentence}\n`);
      } else if (format === "json") await write(resultLine(result));
      else if (format === "yaml") {
        const { stringify } = await import("yaml");
        await write(`---\n${stringify(result, { lineWidth: 0 })}`);
      }
      return result.class === undefined ? EXIT_OK : exitCodeOf(result.class, by);
    },
    async end(): Promise<void> {
      if (format === "table") await write(`${tableOf(results)}\n`);
      const failed = results.filter(({ ok }) => !ok).length;
      const summary = `${machines.length} machines: ${machines.length - failed} succeeded, ${failed} failed\n`;
      if (machines.length > 1 && format !== "json") await writeText(process.stderr, summary);
    },
  };
}

function tableOf(results: readonly ActionResult[]): string {
  const rows = results
    .toSorted((one, other) => (one.machine ?? "").localeCompare(other.machine ?? "", "en", { numeric: true }))
    .map((result) => {
      const { class: errorClass = "ok", durationMs, machine = "", provider = "" } = result;
      return [machine, errorClass, provider, formatSeconds(durationMs), messageOf(result)];
    });
  return formatTable(["machine", "state", "provider", "duration", "message"], rows, [3]);
}
