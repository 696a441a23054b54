import { count } from "../../shared/count.ts";
import { defined } from "../../shared/defined.ts";
import { printableLine } from "../../shared/printable.ts";
import type { Difference } from "../../worker/features/shared/drift-seen.ts";
import { hasDrift, type MachineDrift } from "./check-machine.ts";

/** The longest state is `unsupported`. */
const STATE_WIDTH = 11;

/** Formats rows of a table of machines that are known before they answer. */
export function driftRows(machines: readonly string[]) {
  const width = machines.reduce((most, { length }) => Math.max(most, length), "machine".length);
  const row = (machine: string, state: string, text: string) =>
    `${machine.padEnd(width)}  ${state.padEnd(STATE_WIDTH)}  ${printableLine(text)}`.trimEnd().concat("\n");
  return {
    head: row("machine", "state", "differences"),
    row: (result: MachineDrift) => row(result.machine, stateOf(result), differencesText(result)),
  };
}

/** A result for programs. */
export function driftEntry(result: MachineDrift) {
  const { machine, provider, differences, error } = result;
  const shown = differences.map(({ setting: _, ids: __, ...one }) => one);
  return {
    machine,
    state: stateOf(result),
    ...defined({ provider }),
    differences: shown,
    ...defined({ error }),
  };
}

/** Formats a summary such as `3 machines: 1 same, 1 drift, 1 auth`. */
export function driftSummary(results: readonly MachineDrift[]): string {
  const byState = Map.groupBy(results, stateOf);
  const parts = [...byState].map(([state, { length }]) => `${length} ${state}`).toSorted();
  return `${count(results.length, "machine")}: ${parts.join(", ")}`;
}

/** Returns an error's class, or the worst state among the differences. */
function stateOf(result: MachineDrift): string {
  const { differences, error, paused } = result;
  if (paused) return "paused";
  const failure = error?.class ?? differences.find(({ correction }) => correction?.class)?.correction?.class;
  if (failure) return failure;
  if (hasDrift(result)) return "drift";
  if (differences.some(({ correction }) => correction?.state === "pending")) return "pending";
  if (differences.some(({ correction }) => correction)) return "corrected";
  return (
    (["unknown", "pending"] as const).find((asked) => differences.some(({ state }) => state === asked)) ??
    "same"
  );
}

function differencesText({ differences, error }: MachineDrift): string {
  const texts = differences.flatMap((one) => {
    const { correction, field, reason, state, wanted, actual } = one;
    switch (state) {
      case "same":
        return [];
      case "unknown":
        return [`${field}: unknown, wanted ${textOf(wanted)}: ${reason}`];
      case "pending":
        return [`${field}: ${textOf(actual)}, waits for the next boot: ${textOf(wanted)}`];
      case "different": {
        const text = `${field}: ${textOf(actual)}, wanted ${textOf(wanted)}`;
        if (correction) return [`${text}: ${correction.state}: ${correction.message}`];
        return [reason === undefined ? text : `${text}: ${reason}`];
      }
      default:
        return state satisfies never;
    }
  });
  return [...texts, ...(error ? [error.message] : [])].join("; ");
}

function textOf(value: Difference["wanted"] | undefined): string {
  return Array.isArray(value) ? value.join(", ") || "none" : String(value ?? "nothing");
}
