import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { type Clock, systemClock } from "../../shared/clock.ts";
import { defined } from "../../shared/defined.ts";
import type { LogFields, Logger } from "../../shared/logger.ts";
import { redactor } from "../../shared/secret-forms.ts";
import { textOf } from "../../shared/text-of.ts";
import type { Action, ActionId } from "../action/action.ts";
import { parseImageReference } from "../action/image-reference.ts";
import { nobody, type Observer, observers, type SeenAction } from "../action/observer.ts";
import { reloadFiles, type WatchedFile } from "../config/reload.ts";
import type { ExecutionConfig, WorkerConfig } from "../config/worker-config.ts";
import { readTextFile } from "../document/read-text-file.ts";
import { Executor, type Target } from "../execution/executor.ts";
import { Reporter } from "../execution/reporter.ts";
import type { ActionJournal } from "../journal/journal.ts";
import type { StateDirectory } from "../journal/state-directory.ts";
import { type LaneChanges, Worker } from "../lanes/worker.ts";
import { agentIdsOf } from "../machines/agent-id.ts";
import { AuthGate } from "../machines/auth-gate.ts";
import { CurrentInventory } from "../machines/current-inventory.ts";
import type { Inventory } from "../machines/inventory.ts";
import { parseInventory } from "../machines/parse-inventory.ts";
import { type ResolvedMachine, resolveMachine } from "../machines/resolve-machine.ts";
import { SecretCommands } from "../machines/secret-commands.ts";
import { PowerReader } from "../observe/status/power-reader.ts";
import type { Catalogue } from "../policy/catalogue.ts";
import { decide, decideFile, decideMachine } from "../policy/decide.ts";
import { launchTerms } from "../policy/launch-terms.ts";
import { parsePolicy } from "../policy/parse-policy.ts";
import type { Policy } from "../policy/policy.ts";
import { settleTrust } from "../policy/settle-trust.ts";
import { isTrusted } from "../policy/trust-rule.ts";
import { unenforced } from "../policy/unenforced.ts";
import { DockerRuntime } from "../runtime/docker/docker-runtime.ts";
import { type FilePermit, refusalOf } from "../runtime/host-refusal.ts";
import { InProcessRuntime } from "../runtime/in-process/in-process-runtime.ts";
import { ActionFolder, OwnActions } from "../runtime/process/action-program.ts";
import { ProcessRuntime } from "../runtime/process/process-runtime.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { SelfProgram } from "../runtime/self-program.ts";
import { connectServer } from "../source/server/connect-server.ts";
import type { StatusSink } from "../source/source.ts";
import { ActionSlots } from "../turns/action-slots.ts";
import { type Locks, MachineLocks } from "../turns/machine-locks.ts";
import type { ClusterSide } from "./cluster-side.ts";
import type { OpenedCluster } from "./opened-cluster.ts";

/** What a standing worker is given beside its configuration. */
export interface WorkerSurroundings {
  readonly log: Logger;
  readonly own: SelfProgram;
  readonly state: StateDirectory;
  readonly journal: ActionJournal;
  readonly clock?: Clock;
  readonly observer?: Observer;
  /** Variables that join an action to its trace. */
  readonly traceEnvironment?: TraceEnvironment;
  /** Beside inventory and policy. */
  readonly watchedFiles?: readonly WatchedFile[];
  /** There where the configuration uses one. */
  readonly cluster?: OpenedCluster | undefined;
}

type TraceEnvironment = (action: SeenAction) => Readonly<Record<string, string>>;

const noTrace: TraceEnvironment = () => ({});

/** What may change while a worker runs. */
interface Current {
  /** The file's. */
  readonly inventory: CurrentInventory;
  policy: Policy;
}

/** Builds a standing worker with everything in it. Opens nothing yet. */
export function composeWorker(
  config: WorkerConfig,
  {
    log,
    own,
    state,
    journal,
    clock = systemClock,
    observer = nobody,
    traceEnvironment = noTrace,
    watchedFiles = [],
    cluster,
  }: WorkerSurroundings,
): Worker {
  const current: Current = { inventory: new CurrentInventory(config.inventory), policy: config.policy };
  const transport = connectServer({
    ...config.server,
    clock,
    log,
    maxBackoffMs: config.backoffMaxIntervalMs,
  });
  const runtime = composeRuntime(config, { log, own, state, policy: () => current.policy, cluster });
  const shared = { secretCommands: new SecretCommands(), authGate: new AuthGate(clock) };
  const agentIdsIn = (machines: Inventory) =>
    agentIdsOf(config.fixedAgentIds, config.agentIdPattern, machines.machines());
  const side: ClusterSide | undefined =
    cluster &&
    config.kubernetes &&
    cluster.side({
      ...{ config: config.kubernetes, file: current.inventory, agentIdsOf: agentIdsIn, clock, log },
      agentIdPattern: config.agentIdPattern,
      // For people the pod's name; the state directory's ID makes it one that no other process has.
      member: `${hostname()}-${state.id.slice(0, 8)}`,
      onMachines: ({ added, removed }) =>
        log.info(
          { machinesAdded: named(added), machinesRemoved: named(removed), ...lanesChanged() },
          "cluster machines updated",
        ),
      onOwned: async () => {
        worker.setAgentIds(lanes());
        await worker.quiet();
      },
      readPower: (machine, signal) => power.read(machine, signal),
    });
  const inventory = side?.inventory ?? current.inventory;
  const locks: Locks = side?.leases ?? new MachineLocks();
  const power = new PowerReader({ inventory, actions: own.library, locks, ...shared });
  const lanes = () => side?.lanes() ?? agentIdsIn(inventory);
  const lanesChanged = () => {
    side?.machinesChanged();
    return laneFields(worker.setAgentIds(lanes()));
  };
  const sink: StatusSink = {
    report: (status, signal) => (side?.sinkFor(status.action, transport) ?? transport).report(status, signal),
  };
  const complain = (thrown: unknown) => log.error({ error: textOf(thrown) }, "observer failed");
  const onlookers = side ? observers([observer, side.observer], complain) : observer;
  const slots = new ActionSlots(config.maxActions);
  const worker: Worker = new Worker({
    agentIds: lanes,
    transport,
    runtime,
    executor: composeExecutor(config, {
      catalogue: own.library,
      current: {
        inventory,
        get policy() {
          return current.policy;
        },
      },
      ...{
        sink,
        runtime,
        slots,
        locks,
        journal,
        log,
        clock,
        traceEnvironment,
        observer: onlookers,
        ...shared,
      },
      ...(side && {
        isOurs: (action: Action) => side.isOurs(action),
        cancelOf: (action: ActionId) => side.cancelOf(action),
      }),
    }),
    observer: onlookers,
    facts: {
      machines: () => inventory.machines().map(({ name }) => name),
      agentIds: lanes,
      slots: () => slots,
      unfinished: () => journal.unfinished().length,
      connected: () => transport.connected(),
      checkRuntime: (signal) => runtime.check(signal),
      ...(side && { cluster: () => side.facts() }),
    },
    clock,
    log,
    maxBackoffMs: config.backoffMaxIntervalMs,
    shutdownGraceMs: config.shutdownGraceMs,
    ...(side && {
      sourceOf: (agentId: string) => side.sourceFor(agentId, transport),
      wakingOf: (agentId: string) => side.wakingFor(agentId),
      ready: (stop: AbortSignal) => side.ready(stop),
    }),
    companions: [
      ...(side?.companions ?? []),
      (stop) =>
        config.reloadIntervalMs === 0
          ? Promise.resolve()
          : reloadFiles(
              {
                files: [
                  ...rules(config, current, lanesChanged, () => {
                    if (shared.authGate.retryNow())
                      log.info({}, "inventory file touched, retrying refused credentials");
                  }),
                  ...watchedFiles,
                ],
                intervalMs: config.reloadIntervalMs,
                readFile: readTextFile,
                clock,
                log,
                observer,
              },
              stop,
            ),
    ],
    async close() {
      await power.close();
      await side?.leases?.close();
    },
  });
  return worker;
}

/** Inventory and policy, and what taking one over means. */
function rules(
  { watched: { inventory, policy }, runtime, trust }: WorkerConfig,
  current: Current,
  machinesChanged: () => LogFields,
  inventoryTouched: () => void,
): readonly WatchedFile[] {
  const files: WatchedFile[] = [];
  if (inventory) {
    files.push({
      name: "inventory",
      ...inventory,
      touched: inventoryTouched,
      take(text) {
        const { path } = inventory;
        const parsed = parseInventory({ path, text, env: process.env, readFile: readTextFile });
        if (!parsed.ok) return parsed;
        current.inventory.replace(parsed.value);
        return { ...parsed, value: { machines: parsed.value.machines().length, ...machinesChanged() } };
      },
    });
  }
  if (policy) {
    files.push({
      name: "policy",
      ...policy,
      take(text) {
        const parsed = parsePolicy(policy.path, text);
        if (!parsed.ok) return parsed;
        const settled = settleTrust(parsed.value, trust);
        if (!settled.ok) return { ok: false, problems: [{ source: policy.path, message: settled.message }] };
        current.policy = settled.policy;
        return {
          ok: true,
          value: {},
          warnings: [...parsed.warnings, ...unenforced(parsed.value, runtime.kind)],
        };
      },
    });
  }
  return files;
}

/** So many of them are named in a line of the log. */
const MOST_NAMED = 20;

function laneFields({ added, removed }: LaneChanges): LogFields {
  return { lanesAdded: named(added), lanesRemoved: named(removed) };
}

function named(names: readonly string[]): readonly string[] {
  return names.length <= MOST_NAMED
    ? names
    : [...names.slice(0, MOST_NAMED), `${names.length - MOST_NAMED} more`];
}

/** What takes an action from permission to report. */
export function composeExecutor(
  config: ExecutionConfig,
  parts: {
    readonly catalogue: Catalogue;
    readonly current?: { readonly inventory: Inventory; readonly policy: Policy };
    readonly sink: StatusSink;
    readonly runtime: Runtime;
    readonly slots?: ActionSlots;
    readonly locks?: Locks;
    readonly authGate?: AuthGate;
    readonly secretCommands?: SecretCommands;
    /** Whether an action is still this worker's when its turn has come; absent is always. */
    readonly isOurs?: (action: Action) => boolean;
    /** As `ExecutorOptions.cancelOf`. */
    readonly cancelOf?: (action: ActionId) => AbortSignal | undefined;
    readonly journal: ActionJournal;
    readonly log: Logger;
    readonly clock: Clock;
    readonly observer?: Observer;
    readonly traceEnvironment?: TraceEnvironment;
  },
): Executor {
  const { catalogue, current = config, sink, runtime, journal, log, clock } = parts;
  const { observer = nobody, traceEnvironment = noTrace, slots = new ActionSlots(config.maxActions) } = parts;
  const { locks = new MachineLocks(), authGate = new AuthGate(clock), isOurs = () => true } = parts;
  const { secretCommands = new SecretCommands() } = parts;
  return new Executor({
    permit: (action) => decide(current.policy, catalogue, action),
    locate: (action) => {
      const { policy, inventory } = current;
      const located = resolveMachine(action, inventory, config.agentIdPattern, (machine) =>
        decideMachine(policy, action, machine),
      );
      if (!located.ok) return located;
      const terms = launchTerms(policy, action.image);
      if (isTrusted(policy, action.image)) return { ...located, terms };
      return { ...placeOf(located), terms };
    },
    runtime,
    reporter: new Reporter({ sink, clock, log, maxBackoffMs: config.backoffMaxIntervalMs, observer }),
    locks,
    slots,
    authGate,
    secretCommands,
    isOurs,
    ...(parts.cancelOf && { cancelOf: parts.cancelOf }),
    redactorOf: async (name, signal) => {
      const machine = current.inventory.find(name);
      if (!machine) throw new Error(`the inventory no longer has ${name}`);
      const { secretNamespace } = runtime;
      // What the worker never had it cannot take out of text; actions take it out themselves.
      if (secretNamespace !== undefined && current.inventory.mountedConnection?.(machine, secretNamespace)) {
        return redactor({});
      }
      return redactor(
        await current.inventory.resolveConnection(machine, { commands: secretCommands, signal }),
      );
    },
    journal,
    clock,
    log,
    defaultTimeoutMs: config.defaultActionTimeoutMs,
    observer,
    traceEnvironment,
  });
}

/** The machine and the BMC whose turn an action takes, without a way to reach them. */
function placeOf(located: ResolvedMachine & { readonly ok: true }): Target {
  return {
    ok: true,
    ...("machine" in located && { machine: located.machine }),
    ...("lockKey" in located && { lockKey: located.lockKey }),
  };
}

export interface RuntimeSurroundings {
  readonly log: Logger;
  readonly own: SelfProgram;
  /** Absent for a run that ends with its process. */
  readonly state?: StateDirectory;
  readonly policy: () => Policy;
  /** There where the configuration uses one. */
  readonly cluster?: OpenedCluster | undefined;
}

export function composeRuntime(
  { runtime, kubernetes, stopGraceMs }: ExecutionConfig,
  { log, own, state, policy, cluster }: RuntimeSurroundings,
): Runtime {
  const { file, library, compileCacheDirectory } = own;
  for (const { source, message } of unenforced(policy(), runtime.kind)) log.warn({ source }, message);
  const permitFile: FilePermit = (named, action) => decideFile(policy(), action, named);
  switch (runtime.kind) {
    case "process":
      return new ProcessRuntime({
        programs:
          runtime.actionsDirectory === undefined
            ? new OwnActions(file, library)
            : new ActionFolder(runtime.actionsDirectory),
        permitFile,
        stopGraceMs,
        ...defined({ state, compileCacheDirectory }),
      });
    case "in-process":
      return new InProcessRuntime({
        actions: library,
        refuse: (action) => refusalOf(action, permitFile),
        log,
        stopGraceMs,
      });
    case "docker": {
      const { network, memoryBytes, cpus, pids, user, registryLogin } = runtime;
      return new DockerRuntime({
        log,
        socketPath: runtime.socketPath,
        pullPolicy: runtime.pullPolicy,
        container: {
          worker: hostname(),
          instance: randomUUID(),
          ...(state === undefined ? {} : { state: state.id }),
          network,
          memoryBytes,
          cpus,
          pids,
          user,
        },
        registries: registryLogin ? [registryLogin] : [],
        stopGraceMs,
      });
    }
    case "kubernetes": {
      if (!cluster) throw new Error("the kubernetes runtime needs a cluster");
      const group = kubernetes?.sharing?.group;
      return cluster.runtime({
        ...{ log, stopGraceMs, pods: runtime },
        owner: group ?? state?.id ?? randomUUID(),
        shared: group !== undefined,
        isIdempotent: async (image) => {
          const name = parseImageReference(image)?.name;
          return name !== undefined && ((await library.find(name))?.idempotent ?? false);
        },
      });
    }
    default:
      return runtime satisfies never;
  }
}
