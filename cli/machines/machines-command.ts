import type { Command } from "commander";
import { writeText } from "../../actions/harness/result/write-text.ts";
import { EXIT_OK } from "../../shared/contract/exit-code.ts";
import { DATA_FORMATS, formatData, isDataFormat } from "../../shared/data-format.ts";
import { defined } from "../../shared/defined.ts";
import { suggestion } from "../../shared/nearest-name.ts";
import { formatTable } from "../../shared/table.ts";
import { readWords } from "../../shared/unknown-arguments.ts";
import type { Inventory, Machine } from "../../worker/machines/inventory.ts";
import { endWithUsage } from "../usage-problem.ts";
import {
  addMachineOptions,
  isNarrowed,
  type MachineChoice,
  matching,
  readInventory,
} from "./select-machines.ts";

const COMMAND = "pbnj-worker machines";
const OUTPUTS = ["table", ...DATA_FORMATS];

interface Flags extends MachineChoice {
  readonly inventory?: string;
  readonly output: string;
}

/** `pbnj-worker machines`. */
export function defineMachines(command: Command): void {
  command
    .description(
      "List machines of an inventory with their BMCs and labels. Reads no password and asks no BMC.",
    )
    .option("--inventory <file>", "the inventory with the machines");
  addMachineOptions(command)
    .option("--output <table|json|yaml>", "output format", "table")
    .allowUnknownOption()
    .allowExcessArguments()
    .action(async (flags: Flags) => {
      process.exit(await listMachines(flags, readWords(command).problems));
    });
}

/** Lists the chosen machines, or all. Resolves to the exit code; ends the process for a wrong command line. */
async function listMachines(flags: Flags, unknown: readonly string[]): Promise<number> {
  const { inventory: path = "", output } = flags;
  const problems = [...unknown];
  if (!OUTPUTS.includes(output)) {
    problems.push(`--output is not one of ${OUTPUTS.join(", ")}${suggestion(output, OUTPUTS)}`);
  }
  const inventory = readInventory(path, problems);
  const choice = isNarrowed(flags) ? flags : { all: true };
  const machines = matching(inventory?.machines(), choice, path, problems);
  if (!inventory || problems.length > 0) endWithUsage(COMMAND, problems);
  const described = machines.map((machine) => describe(machine, inventory));
  await writeText(process.stdout, await format(output, described));
  return EXIT_OK;
}

interface Described {
  readonly name: string;
  readonly host?: string;
  readonly providers?: readonly string[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly paused?: string;
}

function describe({ name, labels, paused }: Machine, inventory: Inventory): Described {
  const { host, providers } = inventory.bmcAddress?.(name) ?? {};
  return { name, ...defined({ host, providers, labels, paused: paused?.reason }) };
}

async function format(output: string, machines: readonly Described[]): Promise<string> {
  if (isDataFormat(output)) return formatData(output, machines);
  const rows = machines.map(({ name, host = "", providers = [], labels = {}, paused = "" }) => {
    const pairs = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
    return [name, host, providers.join(","), pairs.join(","), paused];
  });
  return `${formatTable(["machine", "host", "providers", "labels", "paused"], rows)}\n`;
}
