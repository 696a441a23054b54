import { randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type Command, Option } from "commander";
import { EXIT_OK, exitCodeOf } from "../../shared/contract/exit-code.ts";
import { defined } from "../../shared/defined.ts";
import { suggestion } from "../../shared/nearest-name.ts";
import { printable, programLine } from "../../shared/printable.ts";
import { openProgressLines } from "../../shared/progress-lines.ts";
import { formatTable } from "../../shared/table.ts";
import { textOf } from "../../shared/text-of.ts";
import { readWords } from "../../shared/unknown-arguments.ts";
import { startTinkServer, type TinkServer } from "../../simulators/tink/server.ts";
import { isOver } from "../../simulators/tink/workflow.ts";
import type { SelfProgram } from "../../worker/runtimes/self-program.ts";
import { endWithUsage } from "../usage-problem.ts";
import { type Lab, startLab } from "./lab.ts";
import { describeAction } from "./progress.ts";
import { labPolicy, labTemplate } from "./template.ts";

const COMMAND = "pbnj-worker lab";
const MOST_MACHINES = 1_000;
/**
 * The default port: below the ephemeral ports of Linux (from 32768), and far enough from the worker's own ports for a lab's
 * machines.
 */
const DEFAULT_PORT = "24113";
const FAULTS = ["none", "some"];

interface Flags {
  readonly machines: string;
  readonly faults: string;
  readonly host: string;
  readonly port: string;
  readonly directory: string;
  readonly recording?: readonly string[];
  readonly speed: string;
}

interface LabSettings {
  readonly machines: number;
  readonly faults: boolean;
  readonly host: string;
  readonly port: number;
  readonly directory: string;
  readonly recordings?: readonly string[];
  readonly speed: number;
}

/** `pbnj-worker lab`. */
export function defineLab(command: Command, own: Pick<SelfProgram, "file">): void {
  command
    .description(
      "Start simulated machines (Redfish, IPMI, Intel AMT), a tink server with a workflow for each, and an inventory. " +
        "They run until Ctrl+C.",
    )
    .option("--machines <number>", `number of machines, 1 to ${MOST_MACHINES}`, "4")
    .addOption(new Option("--faults <none|some>", "whether some machines are faulty").default("none"))
    .option("--host <address>", "address to listen on", "127.0.0.1")
    .option(
      "--port <number>",
      "port of the tink server; each machine has the next one; 0 takes free ones",
      DEFAULT_PORT,
    )
    .option("--directory <directory>", "folder for inventory, password, policy and template", "lab")
    .option("--recording <file...>", "recorded machines instead of simulated ones: files, or mockup folders")
    .option("--speed <factor>", "how much faster than recorded", "1")
    .allowUnknownOption()
    .allowExcessArguments()
    .action(async (flags: Flags) => {
      const problems = [...readWords(command).problems, ...problemsOf(flags)];
      if (problems.length > 0) endWithUsage(COMMAND, problems);
      const { machines, port, recording, speed, ...others } = flags;
      const numbers = { machines: +machines, port: +port, speed: +speed };
      const settings = {
        ...others,
        ...numbers,
        faults: flags.faults === "some",
        ...defined({ recordings: recording }),
      };
      process.exit(await run(settings, own.file));
    });
}

function problemsOf({ machines, faults, port, recording, speed }: Flags): readonly string[] {
  const problems: string[] = [];
  if (!/^\d{1,4}(\.\d+)?$/.test(speed) || +speed <= 0)
    problems.push("--speed is not a number above 0, such as 10");
  if ((recording?.length ?? 0) > MOST_MACHINES)
    problems.push(`--recording takes at most ${MOST_MACHINES} files`);
  const count = isWhole(machines, 1, MOST_MACHINES);
  if (!count) problems.push(`--machines is not a whole number from 1 to ${MOST_MACHINES}`);
  const most = 65_535 - (recording?.length ?? (count ? +machines : 1));
  if (!isWhole(port, 0, most)) problems.push(`--port is not a whole number from 0 to ${most}`);
  if (!FAULTS.includes(faults)) {
    problems.push(`--faults is not one of ${FAULTS.join(", ")}${suggestion(faults, FAULTS)}`);
  }
  return problems;
}

function isWhole(text: string, least: number, most: number): boolean {
  return /^\d+$/.test(text) && +text >= least && +text <= most;
}

async function run(settings: LabSettings, programFile: string): Promise<number> {
  const { host, port } = settings;
  const stopped = stopSignal();
  let server: TinkServer | undefined;
  let lab: Lab | undefined;
  try {
    server = await startTinkServer({ host, port });
    const lines = openProgressLines(process.stderr);
    lab = await startLab({
      ...settings,
      port: port === 0 ? 0 : port + 1,
      onStarted: (started, of) => lines.note("lab", `${started} of ${of} machines started`),
    }).finally(() => lines.clear());
    const templateFile = join(lab.directory, "network-boot.yaml");
    await writeIfAbsent(templateFile, labTemplate);
    await writeIfAbsent(join(lab.directory, "policy.yaml"), labPolicy);
    const submit = () => submitAll(server as TinkServer, lab as Lab, templateFile);
    await submit();
    process.stdout.write(`${introduction(lab, server.address, templateFile, commandOf(programFile))}\n`);
    print(server);
    const entered = process.stdin.isTTY ? createInterface({ input: process.stdin }) : undefined;
    entered?.on("line", () => void submit().catch((thrown) => complain(thrown)));
    entered?.once("close", stopped.stop);
    await stopped.promise;
    entered?.close();
    return EXIT_OK;
  } catch (thrown) {
    complain(thrown);
    return exitCodeOf("usage");
  } finally {
    await lab?.close();
    await server?.close();
  }
}

/** Writes a file unless it exists, so that the user's changes are kept. */
async function writeIfAbsent(file: string, text: string): Promise<void> {
  await writeFile(file, text, { flag: "wx" }).catch(() => undefined);
}

function stopSignal(): { readonly promise: Promise<void>; stop(): void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  process.once("SIGINT", () => resolve()).once("SIGTERM", () => resolve());
  return { promise, stop: resolve };
}

/** Submits a workflow for each machine. Rejects if the template is invalid. */
async function submitAll(server: TinkServer, lab: Lab, templateFile: string): Promise<void> {
  const template = await readFile(templateFile, "utf8");
  // A suffix for the names, because a worker's journal has the names of earlier runs.
  const run = randomBytes(3).toString("hex");
  for (const { machine } of lab.machines) {
    server.submit({
      name: `${machine.name}-${run}`,
      ...{ template, file: templateFile, values: { machine: machine.name } },
    });
  }
}

/** Prints every change of the workflows. */
function print(server: TinkServer): void {
  server.board.on("change", ({ workflow, action }) => {
    if (action) process.stdout.write(`${printable(`${workflow.agentId}  ${describeAction(action)}`)}\n`);
    else if (isOver(workflow)) process.stdout.write(`${workflow.agentId}  workflow ${workflow.state}\n`);
  });
}

function introduction(lab: Lab, server: string, templateFile: string, command: string): string {
  const [first] = lab.machines;
  const name = first?.machine.name;
  const inventory = `--inventory ${lab.inventoryFile}`;
  const rows = lab.machines.map(({ machine, bmc, port, fault }) => [
    machine.name,
    bmc,
    String(port),
    fault ?? "",
  ]);
  return `A tink server on ${server}, with a workflow for each machine:

${formatTable(["machine", "BMC", "port", "fault"], rows)}

Run a template without the tink server:
  ${command} run ${templateFile} --map machine=${name} ${inventory}

Start a worker, which runs the workflows:
  ${command} start --grpc-server ${server} ${inventory} \\
    --state-directory ${join(lab.directory, "state")} --log-format pretty

${process.stdin.isTTY ? "Enter submits the workflows again, Ctrl+C stops the lab." : "Ctrl+C stops the lab."}
`;
}

/** Returns the command with which the user started this program. */
function commandOf(programFile: string): string {
  return programFile.endsWith(".ts") ? "npm run -s pbnj-worker --" : "pbnj-worker";
}

function complain(thrown: unknown): void {
  const { code, port } = thrown as NodeJS.ErrnoException & { readonly port?: number };
  const inUse = `port ${port} is in use: choose another --port, or 0 for free ones`;
  const reason = code === "EADDRINUSE" ? inUse : textOf(thrown);
  process.stderr.write(programLine(COMMAND, reason));
}
