import { copyFile, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startLab } from "../../cli/lab/lab.ts";
import type { LabMachine } from "../../cli/lab/machines.ts";
import { startProgress } from "../../cli/lab/progress.ts";
import { formatSeconds } from "../../shared/duration.ts";
import { formatTable } from "../../shared/table.ts";
import { startTinkServer, type TinkServer } from "../../simulators/tink/server.ts";
import { isOver, type Workflow } from "../../simulators/tink/workflow.ts";
import { startWorker, type WorkerProcess } from "./worker-process.ts";

/** `npm run demo`: a tink server, three machines, a worker, and one workflow per machine from a real template. */
const TEMPLATE = new URL("../network-boot.yaml", import.meta.url);
const TIMEOUT_MS = 60_000;

const out = process.stdout;
const startedMs = performance.now();
const lab = await startLab();
const server = await startTinkServer();
const template = await readFile(TEMPLATE, "utf8");
const worker = startWorker(
  ["--grpc-server", server.address, "--inventory", lab.inventoryFile, "--log-format", "json"],
  join(lab.directory, "worker.log"),
);
process.once("SIGINT", () => void stopAll(130));

out.write(`tink server on ${server.address}, a worker, and ${lab.machines.length} simulated machines:\n`);
for (const { machine, bmc } of lab.machines) out.write(`  ${machine.name}  ${bmc}\n`);
out.write("Each runs examples/network-boot.yaml: power-off, set-pxe-once, power-on.\n\n");

const workflows = submitAll(server, lab.machines, template);
const progress = startProgress(workflows, out);
server.board.on("change", ({ workflow, action }) => {
  const machine = [...workflows].find(([, mine]) => mine === workflow)?.[0];
  if (machine && action) progress.changed(machine, action);
});
const reason = await waitForEnd(server, workflows, worker);
progress.close();

out.write(`\n${actionTable(workflows)}\n\n`);
const { text, allTrue } = machineTable(lab.machines);
out.write(`${text}\n\n`);
const succeeded = [...workflows.values()].every(({ state }) => state === "SUCCESS");
const ok = succeeded && allTrue && reason === undefined;
out.write(
  `${ok ? "Every report agrees with its machine" : `Failed${reason ? `: ${reason}` : ""}`} (${took()}).\n`,
);
await stopAll(ok ? 0 : 1);

function submitAll(
  to: TinkServer,
  machines: readonly LabMachine[],
  text: string,
): ReadonlyMap<string, Workflow> {
  return new Map(
    machines.map(({ machine: { name } }) => [
      name,
      to.submit({ name: `network-boot-${name}`, template: text, values: { machine: name } }),
    ]),
  );
}

/** Resolves to what kept the workflows from ending, if anything did. */
async function waitForEnd(
  from: TinkServer,
  running: ReadonlyMap<string, Workflow>,
  by: WorkerProcess,
): Promise<string | undefined> {
  const over = from.until(() => [...running.values()].every(isOver), TIMEOUT_MS).then(() => undefined);
  const died = by.ended.then((code) => `the worker ended with exit code ${code}`);
  return Promise.race([over, died]).catch((thrown: unknown) => (thrown as Error).message);
}

function actionTable(ended: ReadonlyMap<string, Workflow>): string {
  const rows = [...ended].flatMap(([machine, workflow]) =>
    workflow.tasks
      .flatMap((task) => task.actions)
      .map(({ name, state, message, startedAt, stoppedAt }) => {
        const [, result = message, provider = ""] = /^(.*) via (\w+)$/.exec(message) ?? [];
        const duration =
          startedAt && stoppedAt ? formatSeconds(stoppedAt.getTime() - startedAt.getTime()) : "";
        return [machine, name, provider, state === "SUCCESS" ? result : `${state}: ${result}`, duration];
      }),
  );
  return formatTable(["machine", "action", "provider", "result", "duration"], rows, [4]);
}

/** What the machines themselves say, whatever was reported about them. */
function machineTable(machines: readonly LabMachine[]): { readonly text: string; readonly allTrue: boolean } {
  const states = machines.map(({ machine }) => ({
    name: machine.name,
    power: machine.power,
    boot: machine.lastBoot?.overridden ? machine.lastBoot.device : "no override",
    override: machine.override.enabled === "disabled" ? "consumed" : machine.override.enabled,
    boots: machine.boots.length,
  }));
  const text = formatTable(
    ["machine", "power", "last boot", "override", "boots"],
    states.map(({ name, power, boot, override, boots }) => [name, power, boot, override, String(boots)]),
    [4],
  );
  const allTrue = states.every(
    ({ power, boot, override, boots }) =>
      power === "on" && boot === "pxe" && override === "consumed" && boots === 1,
  );
  return { text, allTrue };
}

function took(): string {
  return formatSeconds(performance.now() - startedMs);
}

async function stopAll(exitCode: number): Promise<never> {
  const workerExitCode = await worker.stop();
  if (exitCode === 1 || workerExitCode !== 0) {
    const kept = join(tmpdir(), "pbnj-worker-demo.log");
    await copyFile(worker.logFile, kept).catch(() => undefined);
    process.stderr.write(`the worker ended with exit code ${workerExitCode}; its log is ${kept}\n`);
  }
  await server.close();
  await lab.close();
  process.exit(exitCode === 0 && workerExitCode !== 0 ? 1 : exitCode);
}
