import { z } from "zod";

export const WORKS = "works";

/** What the interop tests have found out about one peer. */
export const PeerResult = z.strictObject({
  version: z.string(),
  /** Per action: `works`, or the limit of the peer as the action reports it. */
  actions: z.record(z.string(), z.string()).optional(),
});
export type PeerResult = z.infer<typeof PeerResult>;

/** By name of the peer. */
export const Results = z.record(z.string(), PeerResult);
export type Results = z.infer<typeof Results>;

/**
 * The committed results with those of a run. What the run did not try stays as it was: programs are missing on some machines.
 * A run of everything (`whole`) replaces the results of each peer that it met.
 */
export function mergeResults(committed: Results, found: Results, whole: boolean): Results {
  const merged = { ...committed };
  for (const [name, result] of Object.entries(found)) {
    const before = whole ? undefined : committed[name];
    const actions = { ...before?.actions, ...result.actions };
    merged[name] = {
      version: result.version,
      ...(Object.keys(actions).length > 0 && { actions: sorted(actions) }),
    };
  }
  return sorted(merged);
}

/** What differs, one line each. Versions do not count: those of Debian's packages move by themselves. */
export function differences(committed: Results, merged: Results): readonly string[] {
  const [before, after] = [new Set(linesOf(committed)), new Set(linesOf(merged))];
  return [
    ...[...before].filter((line) => !after.has(line)).map((line) => `- ${line}`),
    ...[...after].filter((line) => !before.has(line)).map((line) => `+ ${line}`),
  ];
}

function linesOf(results: Results): readonly string[] {
  return Object.entries(results).flatMap(([name, { actions = {} }]) =>
    Object.entries(actions).map(([action, outcome]) => `${name}: ${action}: ${outcome}`),
  );
}

function sorted<Value>(values: Readonly<Record<string, Value>>): Record<string, Value> {
  return Object.fromEntries(Object.entries(values).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
