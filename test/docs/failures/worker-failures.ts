import { once } from "node:events";
import { cp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { catalogue } from "../../../actions/catalogue.ts";
import { actionEntries } from "../../../worker/core/action/action-journal.ts";
import { decodeEntry } from "../../../worker/core/journal/entry-text.ts";
import { StateDisk } from "../../chaos/state-disk.ts";
import { WorkerProgram } from "../../support/worker-program.ts";
import type { Failure } from "./failure.ts";
import { REFUSING, SERVED_BY_REDFISH } from "./machines.ts";
import type { Stage } from "./stage.ts";

const KILLER = join(import.meta.dirname, "../../support/kill-at-step.ts");
const START = "pbnj-worker start --grpc-server 192.0.2.1 --inventory /etc/pbnj-worker/inventory.yaml";
const TINK = ["--grpc-server", "192.0.2.1"];

/** Kills the worker with what it runs, and starts another one, for which `action` was under way. */
async function killedIn(stage: Stage, name: string, point: string, ...second: readonly string[]) {
  const server = await stage.tink();
  const bmc = await stage.redfish({}, { cycleOffMs: 3_000, powerOffMs: 3_000 });
  const inventory = await stage.inventory(SERVED_BY_REDFISH(bmc));
  const argv = ["--grpc-server", server.address, "--inventory", inventory];
  const marks = stage.folder;
  const env = { NODE_OPTIONS: `--import=${KILLER}`, KILL_AT: point, KILL_MARKS: marks };
  const first = stage.startProcess(argv, env);
  const workflow = stage.submit(server, { name });
  await first.ended;
  return { server, workflow, start: () => stage.start([...argv, ...second]) };
}

/** What is wrong with the worker itself, its files and its state directory. */
export const workerFailures: readonly Failure[] = [
  {
    name: "settings-wrong",
    provoke: async (stage) => {
      const argv = [
        "--runtiem",
        "docker",
        "--pull-policy",
        "newer",
        "--inventory",
        `${stage.folder}/inventory.yml`,
      ];
      return stage.terminal(
        ["start", ...argv],
        "pbnj-worker start --runtiem docker --pull-policy newer --inventory /etc/pbnj-worker/inventory.yml",
      );
    },
  },
  {
    name: "inventory-wrong-later",
    provoke: async (stage) => {
      const server = await stage.tink();
      const inventory = await stage.inventory(REFUSING);
      const argv = ["--grpc-server", server.address, "--inventory", inventory, "--reload-interval", "100ms"];
      const worker = stage.start(argv);
      await worker.untilLogged("worker started");
      await writeFile(inventory, "machines:\n  - name: node-01\n    hots: 192.0.2.11\n");
      const kept = await worker.untilLogged("inventory reload failed, keeping the last valid one");
      const lines = worker.log.filter(({ level, source }) => Number(level) >= 50 && source !== undefined);
      return { log: [...lines, kept].map((line) => stage.record(line)) };
    },
  },
  {
    name: "policy-image",
    provoke: async (stage) => {
      const server = await stage.tink();
      const policy = await stage.file("policy.yaml", "images: [registry.example/pbnj-worker/power-*]\n");
      const inventory = await stage.inventory(REFUSING);
      const worker = stage.start([
        "--grpc-server",
        server.address,
        "--inventory",
        inventory,
        "--policy",
        policy,
      ]);
      const workflow = await stage.ending(server, { name: "create-user" });
      return { ...stage.statusOf(workflow), ...(await stage.logged(worker, "action refused")) };
    },
  },
  {
    name: "policy-variable",
    provoke: async (stage) => {
      const server = await stage.tink();
      const inventory = await stage.inventory(REFUSING);
      stage.start(["--grpc-server", server.address, "--inventory", inventory]);
      const environment = { MDOE: "hard", NODE_OPTIONS: "--inspect" };
      return stage.statusOf(await stage.ending(server, { name: "power-off", environment }));
    },
  },
  {
    name: "policy-tenant",
    provoke: async (stage) => {
      const server = await stage.tink();
      const tenants = [{ namespaces: ["team-a"], machines: ["node-02"] }];
      const policy = await stage.file("policy.yaml", { images: ["**"], tenants });
      const inventory = await stage.inventory(REFUSING);
      stage.start(["--grpc-server", server.address, "--inventory", inventory, "--policy", policy]);
      return stage.statusOf(await stage.ending(server, { name: "power-on" }));
    },
  },
  {
    name: "image-unknown-to-process",
    provoke: async (stage) => {
      const server = await stage.tink();
      const inventory = await stage.inventory(REFUSING);
      stage.hide(catalogue.toSorted().join(", "), "bmc-info, bmc-reset, ..., wait-for-power-state");
      stage.start(["--grpc-server", server.address, "--inventory", inventory]);
      return stage.statusOf(await stage.ending(server, { name: "power-of" }));
    },
  },
  {
    name: "two-workers",
    provoke: async (stage) => {
      const server = await stage.tink();
      const inventory = await stage.inventory(REFUSING);
      await stage
        .start(["--grpc-server", server.address, "--inventory", inventory])
        .untilLogged("worker started");
      return stage.refused([...TINK, "--inventory", inventory, "--state-directory", stage.state], START);
    },
  },
  {
    name: "http-address-in-use",
    provoke: async (stage) => {
      const server = createServer();
      await once(server.listen(0, "127.0.0.1"), "listening");
      stage.defer(async () => {
        server.close();
      });
      const address = server.address();
      if (address === null || typeof address === "string") throw new Error("no port");
      const taken = `127.0.0.1:${address.port}`;
      stage.hide(taken, "127.0.0.1:42180");
      const inventory = await stage.inventory(REFUSING);
      const argv = ["--http-address", taken, "--state-directory", stage.state, "--log-level", "error"];
      return stage.refused(
        [...TINK, "--inventory", inventory, ...argv],
        `${START} --http-address 127.0.0.1:42180`,
      );
    },
  },
  {
    name: "state-directory-unusable",
    provoke: async (stage) => {
      const inventory = await stage.inventory(REFUSING);
      const file = await stage.file("state", "");
      return stage.refused([...TINK, "--inventory", inventory, "--state-directory", file], START);
    },
  },
  {
    name: "journal-entry-damaged",
    provoke: async (stage) => {
      const server = await stage.tink();
      const inventory = await stage.inventory(REFUSING);
      const argv = ["--grpc-server", server.address, "--inventory", inventory];
      const first = stage.start(argv);
      await first.untilLogged("worker started");
      first.kill("SIGTERM");
      await first.ended;
      await writeFile(join(stage.state, "journal", `${"0".repeat(31)}1.json`), '{"version": 1, "key": ');
      return stage.logged(stage.start(argv), "journal entry damaged: outcome of its action unknown");
    },
  },
  {
    name: "journal-disk-full",
    needs: "disk",
    provoke: async (stage) => {
      const disk = await StateDisk.mount(stage.folder);
      if (typeof disk === "string") throw new Error(disk);
      stage.use(disk);
      const server = await stage.tink();
      // The files of the stage are under the disk: these are beside it.
      const state = join(stage.folder, "state");
      const argv = [
        "start",
        "--grpc-server",
        server.address,
        "--agent-id",
        "pbnj-node-01",
        "--http-address",
        "off",
      ];
      const worker = stage.use(new WorkerProgram([...argv, "--state-directory", state], {}, disk.prefix));
      await worker.untilLogged("worker started");
      await disk.fill();
      stage.submit(server, { name: "power-status", environment: { BMC_HOST: "192.0.2.11" } });
      return stage.logged(worker, "action not started: journal write failed");
    },
  },
  {
    name: "worker-killed",
    provoke: async (stage) => {
      const { server, workflow, start } = await killedIn(stage, "power-cycle", "after launched");
      const worker = start();
      await stage.until(server, () => workflow.state !== "PENDING" && workflow.state !== "RUNNING");
      const { status } = stage.statusOf(workflow);
      const started = stage.record(await worker.untilLogged("worker started"));
      return { status, log: [{ ...started, maxActions: 16 }] };
    },
  },
  {
    name: "worker-killed-with-the-action",
    provoke: async (stage) => {
      const { server, workflow, start } = await killedIn(stage, "power-cycle", "after launched");
      for (const pid of await launchedProcesses(stage)) killIfThere(pid);
      // One that was quicker has said by now that its input broke off.
      const results = join(stage.state, "results");
      for (const name of await readdir(results)) await rm(join(results, name));
      const worker = start();
      await stage.until(server, () => workflow.state === "FAILED");
      const lost = "non-idempotent action of an earlier run lost: not run again";
      return { ...stage.statusOf(workflow), ...(await stage.logged(worker, lost)) };
    },
  },
  {
    name: "runtime-changed",
    provoke: async (stage) => {
      const { server, workflow, start } = await killedIn(
        ...([stage, "power-cycle", "after launched", "--runtime", "in-process"] as const),
      );
      start();
      await stage.until(server, () => workflow.state === "FAILED");
      return stage.statusOf(workflow);
    },
  },
  {
    name: "old-copy",
    provoke: async (stage) => {
      const { server, workflow, start } = await killedIn(stage, "power-cycle", "after launched");
      const [journal, copy] = [join(stage.state, "journal"), join(stage.folder, "copy")];
      await cp(journal, copy, { recursive: true });
      const second = start();
      await stage.until(server, () => workflow.state === "SUCCESS");
      second.kill("SIGTERM");
      await second.ended;
      await rm(journal, { recursive: true });
      await cp(copy, journal, { recursive: true });
      start();
      await stage.until(server, () => workflow.state === "FAILED");
      return stage.statusOf(workflow);
    },
  },
  {
    name: "worker-stopped-at-once",
    provoke: async (stage) => {
      const server = await stage.tink();
      const bmc = await stage.redfish({}, { power: "on", softOffMs: "never" });
      const inventory = await stage.inventory(SERVED_BY_REDFISH(bmc));
      const worker = stage.start(["--grpc-server", server.address, "--inventory", inventory]);
      const asked = new Promise((resolve) => bmc.machine.once("command", resolve));
      const workflow = stage.submit(server, { name: "power-off", environment: { MODE: "soft" } });
      await asked;
      worker.kill("SIGTERM");
      await worker.untilLogged("stopping: draining running actions");
      worker.kill("SIGTERM");
      await stage.until(server, () => workflow.state === "FAILED");
      const log = await stage.logged(
        worker,
        "stopping: draining running actions",
        "cancelling running actions",
      );
      return { ...stage.statusOf(workflow), ...log };
    },
  },
];

function killIfThere(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (thrown) {
    if (!(thrown instanceof Error && "code" in thrown && thrown.code === "ESRCH")) throw thrown;
  }
}

/** The processes that a worker launched, by the state directory's records of them. */
async function launchedProcesses(stage: Stage): Promise<readonly number[]> {
  const directory = join(stage.state, "journal");
  const names = (await readdir(directory)).filter((name) => name.endsWith(".json"));
  const texts = await Promise.all(names.map((name) => readFile(join(directory, name), "utf8")));
  return texts.flatMap((text) => {
    const read = decodeEntry(text, actionEntries);
    const pid = read.ok && "handle" in read.entry ? read.entry.handle?.["pid"] : undefined;
    return typeof pid === "number" ? [pid] : [];
  });
}
