import type { Action } from "../../actions/harness/action.ts";
import { commonInput } from "../../actions/harness/input/common-input.ts";
import { messageOf, sentenceOf } from "../../actions/harness/result/write-result.ts";
import { writeText } from "../../actions/harness/result/write-text.ts";
import { EXIT_OK, exitCodeOf, type StopSignal } from "../../shared/contract/exit-code.ts";
import { givenValue } from "../../shared/contract/given.ts";
import type { ActionResult } from "../../shared/contract/result.ts";
import { formatEntry, isDataFormat } from "../../shared/data-format.ts";
import { formatSeconds } from "../../shared/duration.ts";
import type { ProgressLines } from "../../shared/progress-lines.ts";
import { formatTable } from "../../shared/table.ts";
import type { Machine } from "../../worker/machines/inventory.ts";

export type Format = "text" | "table" | "json" | "yaml";

/** Returns the output format in `OUTPUT`. */
export function formatOf(env: Readonly<Record<string, string>>): Format {
  const asked = commonInput.output.schema.parse(
    givenValue(commonInput.output.env, { env, flags: {} })?.text ?? "auto",
  );
  if (asked !== "auto") return asked;
  return process.stdout.isTTY ? "text" : "json";
}

/** Shows each result when it arrives, or a table of all results at the end. */
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
  const results: Shown[] = [];
  const show = async (result: ActionResult, sentence: string) => {
    if (format === "text") {
      const table = machines.length === 1 && result.data !== undefined && action.table?.(result.data);
      await write(`${table ? `${table}\n\n` : ""}${sentence}\n`);
    } else if (isDataFormat(format)) await write(await formatEntry(format, result));
  };
  return {
    /** Adds a result and resolves to its exit code. `by` is the signal that cancelled the action. */
    async add(result: ActionResult, by: StopSignal): Promise<number> {
      results.push({ result });
      await show(result, sentenceOf(result, undefined));
      return result.class === undefined ? EXIT_OK : exitCodeOf(result.class, by);
    },
    /** Adds a machine that is out of service, to which nothing was sent. */
    async skip(result: ActionResult): Promise<void> {
      results.push({ result, state: "paused" });
      await show(result, `${result.machine}: ${result.message}`);
    },
    async end(): Promise<void> {
      if (format === "table") await write(`${tableOf(results)}\n`);
      const paused = results.filter(({ state }) => state === "paused").length;
      const failed = results.filter(({ result, state }) => !result.ok && state === undefined).length;
      const succeeded = machines.length - failed - paused;
      const skipped = paused > 0 ? `, ${paused} paused` : "";
      const summary = `${machines.length} machines: ${succeeded} succeeded, ${failed} failed${skipped}\n`;
      if (machines.length > 1 && format !== "json") await writeText(process.stderr, summary);
    },
  };
}

interface Shown {
  readonly result: ActionResult;
  /** Shown in place of the error class. */
  readonly state?: "paused";
}

function tableOf(results: readonly Shown[]): string {
  const rows = results
    .toSorted(({ result: one }, { result: other }) =>
      (one.machine ?? "").localeCompare(other.machine ?? "", "en", { numeric: true }),
    )
    .map(({ result, state }) => {
      const { class: errorClass = "ok", durationMs, machine = "", provider = "" } = result;
      return [machine, state ?? errorClass, provider, formatSeconds(durationMs), messageOf(result)];
    });
  return formatTable(["machine", "state", "provider", "duration", "message"], rows, [3]);
}
