import { writeText } from "../../actions/harness/result/write-text.ts";
import { DATA_FORMATS, formatEntry, isDataFormat } from "../../shared/data-format.ts";
import { suggestion } from "../../shared/nearest-name.ts";
import { openProgressLines } from "../../shared/progress-lines.ts";
import { chooseMachines, countedPauses, type MachineChoice } from "../machines/select-machines.ts";
import { listenForStop } from "../stop-signal.ts";
import { endWithUsage } from "../usage-problem.ts";
import { exitCodeFor, type MachineDrift } from "./check-machine.ts";
import { checkMachines } from "./check-machines.ts";
import { driftEntry, driftRows, driftSummary } from "./show-drift.ts";

const COMMAND = "pbnj-worker drift";
const OUTPUTS = ["auto", "table", ...DATA_FORMATS];

export interface DriftFlags extends MachineChoice {
  readonly inventory?: string;
  readonly enforce?: true;
  readonly concurrency: string;
  readonly output: string;
}

/** Compares machines with their desired states. Resolves to the exit code, or ends the process if the command line is wrong. */
export async function drift(flags: DriftFlags, unknown: readonly string[]): Promise<number> {
  const { inventory: path = "", machine = [], enforce = false, concurrency, output } = flags;
  const chosen = chooseMachines({ ...flags, inventory: path });
  const { inventory } = chosen;
  const problems = [...unknown, ...chosen.problems];
  if (!OUTPUTS.includes(output)) {
    problems.push(`--output is not one of ${OUTPUTS.join(", ")}${suggestion(output, OUTPUTS)}`);
  }
  const machines = chosen.machines.filter(({ name }) => inventory?.desiredState?.(name));
  if (chosen.machines.length > 0 && machines.length === 0) {
    problems.push(`${path} has no desired state for any of these machines: add desired to their entries`);
  }
  if (!inventory || problems.length > 0) endWithUsage(COMMAND, problems);

  const stop = listenForStop();
  const isTable = output === "table" || (output === "auto" && process.stdout.isTTY);
  const { head, row } = driftRows(machines.map(({ name }) => name));
  if (isTable) await writeText(process.stdout, head);
  const lines = openProgressLines(process.stderr);
  const format = isDataFormat(output) ? output : "json";
  const onResult = async (result: MachineDrift) => {
    const text = isTable ? row(result) : await formatEntry(format, driftEntry(result));
    await lines.above(() => writeText(process.stdout, text));
  };
  const onLog = (line: string) => void process.stderr.write(`${line}\n`);
  const options = { concurrency: Number(concurrency), enforce, onResult, onLog, lines };
  const results = await checkMachines(machines, inventory, options, stop.signal);
  lines.clear();
  const left = chosen.machines.length - machines.length;
  const skipped = left > 0 ? `, ${left} without a desired state skipped` : "";
  process.stderr.write(`${COMMAND}: ${driftSummary(results)}${skipped}\n`);
  const counted = countedPauses(machines, machine);
  const judged = results.filter((result) => !result.paused || counted.has(result.machine));
  return exitCodeFor(judged, stop.by());
}
