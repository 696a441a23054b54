import type { ActionResult } from "../../../shared/contract/result.ts";

/** A result without what depends on when and where it ran. `shown` makes of a text what a recording has in its place. */
export function comparable(result: ActionResult, shown: (text: string) => string = (text) => text): unknown {
  const { durationMs: _, hint: __, machine: ___, ...rest } = result;
  const text = JSON.stringify(rest, (key, value) => {
    if (/Ms$|^(roundTrips|clock|csr|sha256)$/i.test(key)) return undefined;
    return typeof value === "string" ? shown(value) : value;
  });
  return JSON.parse(withoutTimes(text).replace(/127\.0\.0\.1:\d+/g, "the BMC"));
}

/** Without the durations that `formatSeconds` and messages write: `4.2 s`, `1m 2s`, `300 ms`. */
export function withoutTimes(text: string): string {
  return text.replace(/(\d+m \d+s|\d+(\.\d+)? m?s)\b/g, "some time");
}
