import { hostname } from "node:os";
import { type Clock, systemClock } from "../../shared/clock.ts";
import { defined } from "../../shared/defined.ts";
import type { Logger } from "../../shared/logger.ts";
import { readTextFile } from "../../shared/read-text-file.ts";
import { textOf } from "../../shared/text-of.ts";
import type { Environment } from "../../shared/tracing/variables.ts";
import { reloadFiles } from "../config/reload.ts";
import type { HardwareOfMachines } from "../core/action/hardware-seen.ts";
import { Journal } from "../core/journal/journal.ts";
import { type StateDirectory, StateDirectoryProblem } from "../core/journal/state-directory.ts";
import { laneFields } from "../core/lanes/lane-changes.ts";
import { type LaneControl, Worker } from "../core/lanes/worker.ts";
import type { Deletions, Waking } from "../core/ports/source.ts";
import { Executor } from "../core/run/executor.ts";
import { ActionSlots, type Locks, MachineLocks, Turns } from "../core/turns/turns.ts";
import type { Feature, FlushTerms, Offers, WorkerParts } from "../features/feature.ts";
import { MachineReader } from "../features/machine-reader.ts";
import type { ClusterFacts, WorkerFacts } from "../features/shared/facts.ts";
import { type WorkerObserver, type WorkerObservers, workerObservers } from "../features/shared/observer.ts";
import type { Cluster } from "../kubernetes/client/cluster.ts";
import type { LeaderFacts } from "../kubernetes/leader/leader-election.ts";
import { Access } from "../listener/http/access.ts";
import type { HttpListener } from "../listener/http/http-listener.ts";
import { serveHttp } from "../listener/http/serve-http.ts";
import { machineNameOf, polledAgentIds } from "../machines/agent-id.ts";
import { AuthGate } from "../machines/auth-gate.ts";
import type { Inventory } from "../machines/inventory.ts";
import { SecretCommands } from "../machines/secret-commands.ts";
import { policyRefusal, referenceRefusal } from "../policy/decide.ts";
import { tenantOf } from "../policy/tenant-rule.ts";
import type { SelfProgram } from "../runtimes/self-program.ts";
import {
  connectTinkServer,
  noTinkServer,
  type ServerApi,
  type TinkServer,
} from "../sources/server/tink-server.ts";
import { composeMachines } from "./compose-machines.ts";
import { composeRuntime } from "./compose-runtime.ts";
import { RuleFiles } from "./rule-files.ts";
import { FEATURES, type WorkerConfig } from "./settings.ts";

export interface WorkerOptions {
  readonly log: Logger;
  readonly own: SelfProgram;
  readonly env: Environment;
  readonly state: StateDirectory;
  readonly clock?: Clock;
  /** Set if the settings use one. */
  readonly cluster?: Cluster | undefined;
}

/** A worker with its features. */
export interface OpenedWorker {
  readonly worker: Worker;
  readonly journal: Journal;
  /** Starts the HTTP listener. Rejects when a configured address is not available. */
  serve(): Promise<void>;
  /** The last step, also for a worker that ends as if it were killed: a few seconds at most. Never rejects. */
  flush(how: FlushTerms): Promise<void>;
}

/** Builds the worker of `pbnj-worker start` and `serve`, and reads its journal. Rejects with a `StateDirectoryProblem`. */
export async function openWorker(
  config: WorkerConfig,
  { log, own, env, state, clock = systemClock, cluster }: WorkerOptions,
): Promise<OpenedWorker> {
  const rules = new RuleFiles(config, env, log);
  const policy = () => rules.policy;
  const { inventory } = rules;
  const seeing: WorkerObserver[] = [];
  const observer = workerObservers(seeing, (thrown) =>
    log.error({ error: textOf(thrown) }, "observer failed"),
  );
  const { leadership, locks, takeOver } = await openLeadership(config, cluster, clock, log);
  const isLeading = () => leadership?.isLeading ?? true;
  const authGate = new AuthGate(clock);
  const secretCommands = new SecretCommands();
  const reader = new MachineReader({ inventory, actions: own.library, locks, authGate, secretCommands });

  let lanes: LaneControl | undefined;
  let journal: Journal | undefined;
  const offers: Offers = {};
  const parts: WorkerParts<WorkerConfig> = {
    ...{ config, env, own, state, policy, inventory, locks, reader, cluster, isLeading, offers, observer },
    journal: () => journal ?? { find: () => undefined },
    references: referenceRefusal(policy),
    refusal: (action, machine) => policyRefusal(policy(), own.library, action, machine),
    updateLanes: () => lanes?.setAgentIds(agentIds()),
    ...{ clock, log },
  };
  const features: Feature[] = [];
  for (const definition of FEATURES.filter(({ isUsed }) => isUsed(config))) {
    const feature = await definition.open(parts);
    features.push(feature);
    if (feature.observer) seeing.push(feature.observer);
    if (feature.machines) inventory.join(feature.machines);
    Object.assign(offers, feature.offers);
  }

  journal = await openJournal(state, log, observer, clock);
  const opened = journal;
  const sources = new Map(
    features.flatMap(({ source }) => (source ? [[source.agentId, source.source]] : [])),
  );
  const agentIds = () => [...polledAgentIds(config, inventory), ...sources.keys()];
  const server = openServer(config, {
    legacy: features.find(({ serverApi }) => serverApi)?.serverApi,
    hardware: config.agentAttributes ? offers.hardware : undefined,
    waking: features.find((feature) => feature.waking)?.waking,
    deletions: features.find((feature) => feature.deletions)?.deletions,
    ...{ leadership, inventory, clock, log },
  });
  // The server often restarts together with the cluster.
  cluster?.onWatchOpened(() => server?.probeNow());
  const sourceOf = (agentId: string) => sources.get(agentId) ?? server ?? noTinkServer;
  const base = await composeRuntime(config, {
    ...{ log, own, env, state, policy, cluster },
    ...(leadership && { isLeading }),
  });
  const runtime = features.reduce((below, feature) => feature.runtime?.(below) ?? below, base);
  const slots = new ActionSlots(config.maxActions, {
    tenants: () => policy().tenants?.length ?? 0,
    tenantOf: (workflowId) => tenantOf({ workflowId }, policy().tenants),
  });
  const { secretNamespace } = runtime;
  const executor = new Executor({
    machines: composeMachines({
      ...{
        use: config,
        catalogue: own.library,
        inventory,
        policy,
        authGate,
        secretCommands,
        secretNamespace,
      },
    }),
    ...{ runtime, journal, turns: new Turns(locks, slots), sourceOf, isLeading, observer, clock, log },
    traceEnvironment: (action) => firstOf(features, (feature) => feature.traceEnvironment?.(action)) ?? {},
    defaultTimeoutMs: config.defaultActionTimeoutMs,
    maxBackoffMs: config.backoffMaxIntervalMs,
  });
  const access = config.http && new Access(config.http.files);
  const watchedFiles = () => [
    ...rules.watched({
      machinesChanged: () => (lanes ? laneFields(lanes.setAgentIds(agentIds())) : {}),
      inventoryTouched() {
        if (authGate.retryNow()) log.info({}, "inventory file touched, retrying refused credentials");
      },
    }),
    ...(access?.watchedFiles() ?? []),
    ...features.flatMap((feature) => feature.watchedFiles ?? []),
  ];
  const all = async (step: (feature: Feature) => Promise<void> | undefined) =>
    void (await Promise.all(features.map(step)));
  const facts: WorkerFacts = {
    machines: () => inventory.machines().map(({ name }) => name),
    bmcAddress: (name) => inventory.bmcAddress(name),
    machineOrigin: (name) => inventory.origin(name),
    machinePause: (name) => inventory.find(name)?.paused,
    agentIds: () => (isLeading() ? agentIds() : []),
    slots: () => slots,
    unfinished: () => opened.unfinished().length,
    checkRuntime: (signal) => runtime.check(signal),
    ...(server && { connected: () => server.connected }),
    ...(cluster && { cluster: () => clusterFacts(features, leadership?.state()) }),
    ...Object.assign({}, ...features.map((feature) => feature.facts)),
  };
  const worker = new Worker({
    services: {
      agentIds,
      sourceOf,
      async ready(stop) {
        await Promise.all([takeOver(stop), all((feature) => feature.ready?.(stop))]);
      },
      async open() {
        for (const feature of features) await feature.open?.();
      },
      async run(control, stop) {
        lanes = control;
        await all((feature) => feature.run?.(stop));
      },
      async close() {
        await server?.close();
        for (const feature of features.toReversed()) await feature.close?.();
        await reader.close();
      },
    },
    async reload(control, stop) {
      lanes = control;
      const { reloadIntervalMs: intervalMs } = config;
      if (intervalMs === 0) return;
      const files = watchedFiles();
      await reloadFiles({ files, intervalMs, readFile: readTextFile, clock, log, observer }, stop);
    },
    ...defined({ leadership }),
    ...{ runtime, executor, observer, clock, log },
    maxBackoffMs: config.backoffMaxIntervalMs,
    shutdownGraceMs: config.shutdownGraceMs,
  });
  let listener: HttpListener | undefined;
  return {
    worker,
    journal,
    async serve() {
      for (const feature of features) await feature.serve?.(facts);
      const routes = features.flatMap((feature) => feature.routes?.(facts) ?? []);
      if (config.http) listener = await serveHttp(config.http, routes, log, access);
    },
    async flush(how) {
      await all((feature) => feature.flush?.(how));
      await listener?.close();
    },
  };
}

async function openLeadership(
  { leaderElection }: WorkerConfig,
  cluster: Cluster | undefined,
  clock: Clock,
  log: Logger,
) {
  const lease = leaderElection?.lease;
  if (!cluster || lease === undefined) {
    const locks: Locks = new MachineLocks();
    return { leadership: undefined, locks, takeOver: async () => undefined };
  }
  const { Leadership } = await import("../kubernetes/leader/lease-leadership.ts");
  const { LeaderLocks } = await import("../kubernetes/leader/leader-locks.ts");
  const leadership = new Leadership({ cluster, lease, host: hostname(), clock, log });
  const locks = new LeaderLocks({ cluster, clock, log });
  return { leadership, locks, takeOver: (stop: AbortSignal) => locks.takeOver(stop) };
}

async function openJournal(
  { journal: directory, verify }: StateDirectory,
  log: Logger,
  observer: WorkerObservers,
  clock: Clock,
): Promise<Journal> {
  try {
    return await Journal.open({ directory, clock, log, observer, verify });
  } catch (thrown) {
    const text = `the journal ${directory} cannot be opened: ${textOf(thrown)}`;
    throw new StateDirectoryProblem(text, { cause: thrown });
  }
}

interface ServerParts {
  readonly legacy: ServerApi | undefined;
  readonly hardware: HardwareOfMachines | undefined;
  readonly leadership: { readonly isLeading: boolean } | undefined;
  readonly waking: Waking | undefined;
  readonly deletions: Deletions | undefined;
  readonly inventory: Inventory;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Opens the tink server, if there is one. Its polls say what the machine of their agent ID is built of. */
function openServer(
  { server, agentIdPattern, backoffMaxIntervalMs }: WorkerConfig,
  { legacy, hardware, leadership, inventory, ...parts }: ServerParts,
): TinkServer | undefined {
  if (!server || !legacy) return undefined;
  const machineOf = (agentId: string) => {
    const name = machineNameOf(agentIdPattern, agentId);
    return name === undefined ? undefined : inventory.find(name)?.name;
  };
  return connectTinkServer({
    ...{ ...server, ...parts, legacy, maxBackoffMs: backoffMaxIntervalMs },
    isLeading: () => leadership?.isLeading ?? true,
    isShared: leadership !== undefined,
    hardware: {
      of(agentId) {
        const machine = machineOf(agentId);
        return machine === undefined ? undefined : hardware?.find(machine)?.hardware;
      },
      awaited(agentId) {
        const machine = machineOf(agentId);
        return machine === undefined ? undefined : hardware?.awaited(machine);
      },
    },
  });
}

function clusterFacts(features: readonly Feature[], leader: LeaderFacts | undefined): ClusterFacts {
  const found = features.flatMap((feature) => feature.clusterFacts?.() ?? []);
  return {
    sources: [],
    unusableMachines: 0,
    ...Object.assign({}, ...found),
    problems: found.flatMap(({ problems = [] }) => problems),
    ...defined({ leader }),
  };
}

function firstOf<T>(features: readonly Feature[], find: (feature: Feature) => T | undefined): T | undefined {
  for (const feature of features) {
    const found = find(feature);
    if (found !== undefined) return found;
  }
  return undefined;
}
