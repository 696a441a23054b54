import { hostname } from "node:os";
import { type Clock, systemClock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import { readTextFile } from "../../shared/read-text-file.ts";
import { textOf } from "../../shared/text-of.ts";
import type { Environment } from "../../shared/tracing/variables.ts";
import { reloadFiles } from "../config/reload.ts";
import { actionEntries } from "../core/action/action-journal.ts";
import type { JournalEntry } from "../core/action/entry.ts";
import { Journal } from "../core/journal/journal.ts";
import { type StateDirectory, StateDirectoryProblem } from "../core/journal/state-directory.ts";
import { type LaneControl, laneFields, Worker } from "../core/lanes/worker.ts";
import { ActionQueue, ActionSlots, type Locks, MachineLocks } from "../core/queue/action-queue.ts";
import { StartLimits } from "../core/queue/start-limits.ts";
import { Executor } from "../core/run/executor.ts";
import { WorkflowReview } from "../explain/workflow-review.ts";
import type { FlushTerms } from "../features/feature.ts";
import { MachineReader } from "../features/machine-reader.ts";
import type { WorkerFacts } from "../features/shared/facts.ts";
import { type WorkerObserver, type WorkerObservers, workerObservers } from "../features/shared/observer.ts";
import type { Cluster } from "../kubernetes/client/cluster.ts";
import { Access } from "../listener/http/access.ts";
import { type HttpListener, serveHttp } from "../listener/http/http-listener.ts";
import { agentIdsOf, polledAgentIds } from "../machines/agent-id.ts";
import { AuthGate } from "../machines/auth-gate.ts";
import { SecretCommands } from "../machines/secret-commands.ts";
import { policyRefusal, referenceRefusal } from "../policy/decide.ts";
import { tenantOf } from "../policy/tenant-rule.ts";
import type { SelfProgram } from "../runtimes/self-program.ts";
import { noTinkServer } from "../sources/server/tink-server.ts";
import { composeMachines } from "./compose-machines.ts";
import { composeRuntime } from "./compose-runtime.ts";
import { type FeatureParts, openFeatures } from "./open-features.ts";
import { openServer } from "./open-server.ts";
import { RuleFiles } from "./rule-files.ts";
import type { WorkerConfig } from "./settings.ts";

export interface WorkerOptions {
  readonly log: Logger;
  readonly own: SelfProgram;
  readonly env: Environment;
  readonly state: StateDirectory;
  readonly clock?: Clock;
  /** Set if the settings use one. */
  readonly cluster?: Cluster | undefined;
}

/** Builds the worker of `pbnj-worker start` and `serve`, and reads its journal. Rejects with a `StateDirectoryProblem`. */
export async function openWorker(
  config: WorkerConfig,
  { log, own, env, state, clock = systemClock, cluster }: WorkerOptions,
): Promise<OpenedWorker> {
  const rules = new RuleFiles(config, env, own.library.names(), log);
  const policy = () => rules.policy;
  const { inventory } = rules;
  const seeing: WorkerObserver[] = [];
  const onFailure = (thrown: unknown) => log.error({ error: textOf(thrown) }, "observer failed");
  const observer = workerObservers(seeing, onFailure);
  const { leadership, locks, takeOver } = await openLeadership(config, cluster, clock, log);
  const isLeading = () => leadership?.isLeading ?? true;
  const journal = await openJournal(state, log, observer, clock);

  const authGate = new AuthGate(clock);
  const secretCommands = new SecretCommands();
  const reader = new MachineReader({ inventory, actions: own.library, locks, authGate, secretCommands });
  const review = new WorkflowReview({
    clock,
    log,
    rules: () => ({
      ...{ policy: policy(), catalogue: own.library, inventory },
      ...{ agentIdPattern: config.agentIdPattern, runtime: config.runtime.kind },
    }),
    polled: () => polledAgentIds(config, inventory),
    known: () => agentIdsOf(config.fixedAgentIds, config.agentIdPattern, inventory.machines()),
  });
  const features = await openFeatures({
    config,
    clock,
    log,
    seeing,
    process: { env, own, state },
    machines: { inventory, reader },
    rules: {
      policy,
      references: referenceRefusal(policy),
      refusal: (action, name) =>
        policyRefusal(policy(), { catalogue: own.library, clock }, action, inventory.find(name) ?? { name }),
      review,
    },
    control: { journal, observer, isLeading, cluster },
  });
  // Observers of features see which entries are forgotten.
  await journal.prune();

  const sources = new Map(features.of("source").map(({ agentId, source }) => [agentId, source]));
  const agentIds = () => [...polledAgentIds(config, inventory), ...sources.keys()];
  const server = openServer(config, { features, inventory, leadership, clock, log });
  // The server often restarts together with the cluster.
  cluster?.onWatchOpened(() => server?.probeNow());
  const sourceOf = (agentId: string) => sources.get(agentId) ?? server ?? noTinkServer;

  const leading = leadership && { isLeading };
  const base = await composeRuntime(config, { log, own, env, state, policy, cluster, ...leading });
  const runtime = features.of("runtime").reduce((below, { wrap }) => wrap?.(below) ?? below, base);
  const { secretNamespace } = runtime;
  const checkLaunch = async (signal: AbortSignal) => {
    await state.probe();
    return runtime.check(signal);
  };
  const limits = new StartLimits(clock);
  const slots = new ActionSlots(config.maxActions, {
    tenants: () => policy().tenants?.length ?? 0,
    tenantOf: (workflowId) => tenantOf({ workflowId }, policy().tenants),
  });
  const executor = new Executor({
    machines: composeMachines({
      ...{
        use: config,
        catalogue: own.library,
        clock,
        inventory,
        policy,
        authGate,
        secretCommands,
        secretNamespace,
      },
    }),
    runtime,
    journal,
    queue: new ActionQueue(locks, slots, limits),
    sourceOf,
    isLeading,
    observer,
    clock,
    log,
    traceEnvironment: (action) => features.environmentOf(action),
    defaultTimeoutMs: config.defaultActionTimeoutMs,
    maxBackoffMs: config.backoffMaxIntervalMs,
  });

  const access = config.http && new Access(config.http.files);
  const watchedFiles = (lanes: LaneControl) => [
    ...rules.watched({
      machinesChanged: () => laneFields(lanes.setAgentIds(agentIds())),
      inventoryTouched() {
        if (authGate.retryNow()) log.info({}, "inventory file touched, retrying refused credentials");
      },
    }),
    ...(access?.watchedFiles() ?? []),
    ...features.of("files").flatMap(({ files }) => files),
  ];
  const tasks = features.of("task");
  const worker = new Worker({
    services: {
      agentIds,
      sourceOf,
      async ready(stop) {
        await Promise.all([takeOver(stop), ...tasks.map((task) => task.ready?.(stop))]);
        review.begin();
      },
      async open() {
        for (const task of tasks) await task.open?.();
      },
      async run(lanes, stop) {
        const updateLanes = () => lanes.setAgentIds(agentIds());
        await Promise.all(tasks.map((task) => task.run(stop, updateLanes)));
      },
      async close() {
        await server?.close();
        for (const task of tasks.toReversed()) await task.close?.();
        await reader.close();
      },
    },
    async reload(lanes, stop) {
      const { reloadIntervalMs: intervalMs } = config;
      if (intervalMs === 0) return;
      const files = watchedFiles(lanes);
      const isAwaited = () => executor.isWaitingForPause;
      await reloadFiles({ files, intervalMs, isAwaited, readFile: readTextFile, clock, log, observer }, stop);
    },
    leadership,
    runtime,
    checkLaunch,
    executor,
    observer,
    clock,
    log,
    maxBackoffMs: config.backoffMaxIntervalMs,
    shutdownGraceMs: config.shutdownGraceMs,
  });
  const facts: WorkerFacts = {
    machines: () => inventory.machines().map(({ name }) => name),
    bmcAddress: (name) => inventory.bmcAddress(name),
    machineOrigin: (name) => inventory.origin(name),
    machinePause: (name) => inventory.find(name)?.paused,
    machineLabels: (name) => inventory.find(name)?.labels,
    agentIds: () => (isLeading() ? agentIds() : []),
    slots: () => slots,
    limited: () => limits.waiting,
    unfinished: () => journal.unfinished().length,
    checkRuntime: checkLaunch,
    ...(server && { connected: () => server.connected }),
    ...(cluster && { cluster: () => features.clusterFacts(leadership?.state()) }),
    ...features.facts,
  };
  return new OpenedWorker({ worker, journal, features, facts, config, access, log });
}

interface OpenedParts {
  readonly worker: Worker;
  readonly journal: Journal<JournalEntry>;
  readonly features: FeatureParts;
  readonly facts: WorkerFacts;
  readonly config: WorkerConfig;
  /** Set if there is an HTTP listener. */
  readonly access: Access | undefined;
  readonly log: Logger;
}

/** A worker with its features. */
export class OpenedWorker {
  readonly worker: Worker;
  readonly journal: Journal<JournalEntry>;
  readonly #parts: OpenedParts;
  #listener: HttpListener | undefined;

  constructor(parts: OpenedParts) {
    this.worker = parts.worker;
    this.journal = parts.journal;
    this.#parts = parts;
  }

  /** Rejects with one line if the runtime cannot launch actions. */
  async checkRuntime(signal: AbortSignal): Promise<void> {
    await this.#parts.facts.checkRuntime(signal);
  }

  /** Starts the HTTP listener. Rejects when a configured address is not available. */
  async serve(): Promise<void> {
    const { access, config, facts, features, log } = this.#parts;
    for (const recorder of features.of("recorder")) await recorder.serve?.();
    const routes = features.of("routes").flatMap((part) => part.routes(facts));
    if (config.http) this.#listener = await serveHttp(config.http, routes, log, access);
  }

  /** The last step, even of a worker that ends as if it were killed. Takes a few seconds at most. Never rejects. */
  async flush(how: FlushTerms): Promise<void> {
    await Promise.all(this.#parts.features.of("recorder").map((recorder) => recorder.flush(how)));
    await this.#listener?.close();
  }
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
): Promise<Journal<JournalEntry>> {
  try {
    return await Journal.open({ directory, kind: actionEntries, clock, log, observer, verify });
  } catch (thrown) {
    const text = `the journal ${directory} cannot be opened: ${textOf(thrown)}`;
    throw new StateDirectoryProblem(text, { cause: thrown });
  }
}
