import { randomBytes } from "node:crypto";
import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { containerEngine } from "../../scripts/images/container-engine.ts";
import { textOf } from "../../shared/text-of.ts";
import { openFolder } from "../support/folder.ts";
import { BmcFacts, type BmcOrder, type BmcSetup } from "./bmc-host.ts";
import { ClusterFacts, type ClusterOrder, type ClusterSetup, NAMESPACE } from "./cluster-host.ts";
import { Host } from "./host.ts";
import { type ChaosMachine, InventoryFile } from "./inventory-file.ts";
import { containersOf, endByForce, killContainer, processesMarked, removeContainers } from "./leftovers.ts";
import { hostNameOf, NamesFile } from "./names-file.ts";
import type { ChaosOptions, ChaosRuntime } from "./options.ts";
import { PrivateEngine } from "./private-engine.ts";
import { ActionRecord, MachineRecord, WorkflowRecord } from "./records.ts";
import { StateDisk } from "./state-disk.ts";
import { TinkFacts, type TinkOrder } from "./tink-host.ts";
import { WorkerProcess } from "./worker-process.ts";

const CLI = fileURLToPath(new URL("../../cli/main.ts", import.meta.url));
const CLUSTER_HOST = fileURLToPath(new URL("cluster-host.ts", import.meta.url));
const TINK_HOST = fileURLToPath(new URL("tink-host.ts", import.meta.url));
const BMC_HOST = fileURLToPath(new URL("bmc-host.ts", import.meta.url));
/** The server holds a poll this long: some end by themselves, most while something happens. */
const HOLD_MS = 10_000;
const TRANSITIONS = { powerOnMs: 300, powerOffMs: 200 };
/** A supervisor's pause before it starts again what ended by itself. */
const RESTART_PAUSE_MS = 500;

/** A worker with all that is its own. */
export interface LabWorker {
  readonly name: string;
  readonly runtime: ChaosRuntime;
  /** Whether it is killed and stopped; the other one lives on, so that what it gathers shows. */
  readonly mortal: boolean;
  /** The names of the workers that share its machines and agent IDs, its own included. */
  readonly replicas: readonly string[];
  readonly process: WorkerProcess;
  readonly inventory: InventoryFile;
  readonly disk?: StateDisk;
  /** Which names it resolves; absent if it finds its BMCs by address. */
  readonly names?: NamesFile;
  /** The state directory, as this process sees it. */
  readonly stateDirectory: string;
  readonly logFile: string;
  readonly sharedAgentId: string;
  readonly machines: readonly ChaosMachine[];
}

interface Counts {
  readonly submitted: number;
  readonly over: number;
}

/** What the simulators know. */
export interface Records {
  readonly workflows: readonly WorkflowRecord[];
  readonly actions: readonly ActionRecord[];
  readonly machines: readonly MachineRecord[];
}

/** Everything that runs, and the ways to reach it. Disposing of it ends and removes all of it. */
export interface Lab extends AsyncDisposable {
  readonly workers: readonly LabWorker[];
  /** Faults that cannot be made here, and why. */
  readonly leftOut: ReadonlyMap<string, string>;
  /** The container engine of this lab alone; absent if another one is used, or none. */
  readonly engine?: PrivateEngine;
  readonly password: string;
  tink(order: TinkOrder): Promise<void>;
  /** Absent without replicas. */
  readonly cluster?: (order: ClusterOrder) => Promise<void>;
  count(): Promise<Counts>;
  /** How many processes or containers of its actions there are; none for those that a cluster runs. */
  actionsOf(worker: LabWorker): Promise<number>;
  /** Ends an action of that worker by force; false if it has none that is a process or a container. */
  killAction(worker: LabWorker): Promise<boolean>;
  /** Shows another certificate, and returns its fingerprint. */
  changeCertificate(machine: string): Promise<string>;
  /** To the host of that machine's BMC. */
  hurtBmc(order: Extract<BmcOrder, { kind: "hurt" }>): Promise<void>;
  healBmcs(): Promise<void>;
  records(): Promise<Records>;
  /** Workers that end by themselves are started again until this is called. */
  leaveDown(): void;
  /** A file among the workers' logs, for what was done to them. */
  readonly faultLog: string;
  /** Another one, for what the simulators know. */
  readonly recordsFile: string;
  /** Actions that run, as processes, containers or Jobs, and what was made for them. */
  running(): Promise<readonly string[]>;
}

/** `images` are those that containers need; with one or more, the lab has a container engine. */
export async function startLab(options: ChaosOptions, images: readonly string[]): Promise<Lab> {
  await using stack = new AsyncDisposableStack();
  const base = stack.use(await openFolder());
  // IPMI takes 20 bytes at most.
  const password = `chaos-${randomBytes(7).toString("hex")}`;
  const passwordFile = await base.write("password", `${password}\n`);
  const names = Array.from(
    { length: options.machines },
    (_, index) => `node-${String(index + 1).padStart(3, "0")}`,
  );

  const roles = options.runtimes.flatMap((runtime) => {
    const names = { mortal: `${runtime}-mortal`, lasting: `${runtime}-lasting` };
    const both = Object.values(names);
    const replicasOf = (name: string) => (runtime === "kubernetes" ? both : [name]);
    return both.map((name) => {
      return { name, runtime, mortal: name === names.mortal, replicas: replicasOf(name) };
    });
  });
  /** Each with machines of its own. */
  const groups = [...new Set(roles.map(({ replicas }) => replicas.join()))];

  const { host: tink, facts } = await Host.start(
    "the tink server",
    TINK_HOST,
    { holdMs: HOLD_MS },
    TinkFacts,
  );
  stack.use(tink);
  const hosts = new Map<string, Host>();
  const machines: ChaosMachine[] = [];
  for (const protocol of ["redfish", "ipmi"] as const) {
    const mine = names.filter((_, index) => (index % 2 === 0) === (protocol === "redfish"));
    const setup: BmcSetup = { protocol, machines: mine, password, ...TRANSITIONS };
    const started = await Host.start(`the ${protocol} BMCs`, BMC_HOST, setup, BmcFacts);
    stack.use(started.host);
    for (const [index, name] of mine.entries()) {
      hosts.set(name, started.host);
      // Not in step with the way that machines are dealt out to workers.
      const auth = Math.floor(index / groups.length) % 2 === 0 ? "session" : "basic";
      const { ports, fingerprints } = started.facts;
      machines.push({
        name,
        protocol,
        port: ports[index] ?? 0,
        auth,
        fingerprint: fingerprints[index] ?? undefined,
      });
    }
  }

  const leftOut = new Map<string, string>();
  let engine: PrivateEngine | undefined;
  if (images.length > 0) {
    try {
      engine = stack.use(await PrivateEngine.start(base.path("engine"), images));
    } catch (thrown) {
      leftOut.set("engine restarted", textOf(thrown));
    }
  }
  const engineClient = engine ?? containerEngine("docker");
  const shared = roles.filter(({ runtime }) => runtime === "kubernetes").map(({ name }) => name);
  const setup: ClusterSetup = { replicas: shared, program: [CLI, "action"] };
  const cluster =
    shared.length === 0 ? undefined : await Host.start("the cluster", CLUSTER_HOST, setup, ClusterFacts);
  // It ends its pods itself.
  if (cluster) {
    stack.use(cluster.host);
    stack.defer(() => cluster.host.tell({ kind: "end" }).catch(() => undefined));
  }
  const inventories = new Map<string, InventoryFile>();
  let closing = false;
  const workers: LabWorker[] = [];
  for (const { name, runtime, mortal, replicas } of roles) {
    const own = base.path(name);
    const state = join(own, "state");
    await mkdir(state, { recursive: true });
    const group = replicas.join();
    const mine = machines.filter((_, place) => groups[place % groups.length] === group);
    const names = new NamesFile(
      join(own, "hosts"),
      mine.map(({ name }) => hostNameOf(name)),
    );
    await names.write();
    const disk = await StateDisk.mount(state, names.path);
    if (typeof disk === "string") leftOut.set("disk full", disk);
    else stack.use(disk);
    // Containers do not see this namespace.
    const usesNames = typeof disk !== "string" && (runtime === "process" || runtime === "in-process");
    const inventory =
      inventories.get(group) ??
      new InventoryFile(join(own, "inventory.yaml"), passwordFile, mine, (name) =>
        usesNames ? hostNameOf(name) : "127.0.0.1",
      );
    inventories.set(group, inventory);
    await inventory.write();
    const sharedAgentId = `chaos-${replicas[0]}`;
    const kubeconfig = join(own, "kubeconfig");
    const access = cluster?.facts.kubeconfigs[name];
    if (access !== undefined) await writeFile(kubeconfig, access, { mode: 0o600 });
    const logFile = join(own, "worker.log");
    const process = new WorkerProcess({
      name,
      logFile,
      argv: [
        ...["start", "--grpc-server", facts.address],
        ...["--inventory", inventory.path, "--state-directory", state],
        ...["--agent-id", sharedAgentId, "--reload-interval", "300ms", "--backoff-max-interval", "2s"],
        ...["--stop-grace", "3s", "--shutdown-grace", "20s", "--runtime", runtime, "--log-format", "json"],
        ...(runtime === "docker"
          ? [
              ...(engine ? ["--docker-socket", engine.socket] : []),
              ...["--pull-policy", "never", "--docker-network", "host", "--unsafe-any-image"],
            ]
          : []),
        ...(runtime === "kubernetes"
          ? [
              ...["--kubeconfig", kubeconfig, "--kubernetes-namespace", NAMESPACE, "--unsafe-any-image"],
              ...["--leader-election", "true", "--leader-election-lease", "chaos"],
            ]
          : []),
      ],
      ...(typeof disk === "string" ? {} : { prefix: disk.prefix }),
    });
    workers.push({
      name,
      runtime,
      mortal,
      replicas,
      process,
      inventory,
      ...(typeof disk === "string" ? {} : { disk }),
      ...(usesNames && { names }),
      stateDirectory: typeof disk === "string" ? state : disk.pathFromOutside,
      logFile,
      sharedAgentId,
      machines: mine,
    });
  }

  const marks = new Map<LabWorker, string>();
  /** The ID of a state directory is on all that was launched from it. */
  const markOf = async (worker: LabWorker): Promise<string | undefined> => {
    const text = await readFile(join(worker.stateDirectory, "state.json"), "utf8").catch(() => "{}");
    const id = marks.get(worker) ?? z.object({ id: z.string().optional() }).parse(JSON.parse(text)).id;
    if (id !== undefined) marks.set(worker, id);
    return id;
  };
  const leftOf = async (worker: LabWorker) => {
    const mark = await markOf(worker);
    if (mark === undefined || worker.runtime === "kubernetes") return { processes: [], containers: [] };
    const known = new Set([globalThis.process.pid, ...workers.flatMap(({ process }) => process.pid ?? [])]);
    const processes = worker.runtime === "docker" ? [] : await processesMarked(mark, known);
    return {
      processes,
      containers: worker.runtime === "docker" ? await containersOf(engineClient, mark) : [],
    };
  };

  const logs = options.logs;
  const faultLog = await base.write("faults.log", "");
  const recordsFile = await base.write("records.json", "");
  if (logs !== undefined) {
    stack.defer(async () => {
      await mkdir(logs, { recursive: true });
      for (const { name, logFile } of workers) await cp(logFile, join(logs, `${name}.log`), { force: true });
      for (const file of [faultLog, recordsFile]) await cp(file, join(logs, basename(file)), { force: true });
    });
  }
  stack.defer(async () => {
    closing = true;
    for (const worker of workers) {
      await worker.process.kill();
      const { processes, containers } = await leftOf(worker);
      for (const pid of processes) endByForce(pid);
      await removeContainers(engineClient, containers);
    }
  });
  const supervise = async ({ process }: LabWorker) => {
    while (!closing) {
      await sleep(RESTART_PAUSE_MS);
      if (!closing && process.endedByItself) process.start();
    }
  };
  for (const worker of workers) {
    worker.process.start();
    void supervise(worker);
  }

  const owned = stack.move();
  return {
    workers,
    leftOut,
    ...(engine && { engine }),
    password,
    faultLog,
    recordsFile,
    tink: (order) => tink.tell(order),
    ...(cluster && { cluster: (order: ClusterOrder) => cluster.host.tell(order) }),
    count: () => tink.ask({ kind: "count" }, z.object({ submitted: z.int(), over: z.int() })),
    async actionsOf(worker) {
      const { processes, containers } = await leftOf(worker);
      return processes.length + containers.length;
    },
    async killAction(worker) {
      if (worker.runtime === "kubernetes")
        return (await cluster?.host.ask({ kind: "kill" }, z.boolean())) ?? false;
      const { processes, containers } = await leftOf(worker);
      const [pid] = processes;
      const [container] = containers;
      if (pid !== undefined) endByForce(pid);
      if (container !== undefined) await killContainer(engineClient, container);
      return pid !== undefined || container !== undefined;
    },
    async changeCertificate(machine) {
      const changed = await hosts.get(machine)?.ask({ kind: "certificate", machine }, z.string());
      if (changed === undefined) throw new Error(`no machine ${machine}`);
      return changed;
    },
    async hurtBmc(order) {
      await hosts.get(order.machine)?.tell(order);
    },
    async healBmcs() {
      for (const host of new Set(hosts.values())) await host.tell({ kind: "heal" });
    },
    async records() {
      const schema = z.object({ workflows: z.array(WorkflowRecord), actions: z.array(ActionRecord) });
      const told = await tink.ask({ kind: "records" }, schema);
      const done = await Promise.all(
        [...new Set(hosts.values())].map((host) => host.ask({ kind: "records" }, z.array(MachineRecord))),
      );
      return { ...told, machines: done.flat() };
    },
    leaveDown() {
      closing = true;
    },
    async running() {
      const left = await Promise.all(workers.map(async (worker) => ({ worker, ...(await leftOf(worker)) })));
      const inCluster = await cluster?.host.ask({ kind: "left" }, z.array(z.string()));
      return [
        ...left.flatMap(({ worker, processes, containers }) => [
          ...processes.map((pid) => `${worker.name}: process ${pid}`),
          ...containers.map((id) => `${worker.name}: container ${id}`),
        ]),
        ...(inCluster ?? []).map((text) => `the cluster: ${text}`),
      ];
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
