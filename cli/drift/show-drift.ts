import { count } from "../../shared/count.ts";
import { defined } from "../../shared/defined.ts";
import { printableLine } from "../../shared/printable.ts";
import { outputWidth, tableRows, textWidth } from "../../shared/table.ts";
import type { Difference } from "../../worker/features/shared/drift-seen.ts";
import { hasDrift, type MachineDrift } from "./check-machine.ts";

/** The longest state is `unsupported`. */
const STATE_WIDTH = 11;

/** Formats rows of a table of machines that are known before they answer. */
export function driftRows(machines: readonly string[], width = outputWidth()) {
  const head = ["machine", "state", "differences"];
  const widest = machines.reduce((most, name) => Math.max(most, textWidth(name)), "machine".length);
  const widths = [widest, STATE_WIDTH, Number.POSITIVE_INFINITY];
  const format = tableRows({ head, widths, width });
  return {
    head: format.head
      .slice(0, 1)
      .map((line) => `${line}\n`)
      .join(""),
    row(result: MachineDrift) {
      return `${format.row([result.machine, stateOf(result), printableLine(differencesText(result))])}\n`;
    },
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
