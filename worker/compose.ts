import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { type Clock, systemClock } from "../shared/clock.ts";
import type { LogFields, Logger } from "../shared/logger.ts";
import { redactor } from "../shared/secret-forms.ts";
import { ActionSlots } from "./action-slots.ts";
import { AuthGate } from "./auth-gate.ts";
import type { ExecutionConfig, WorkerConfig } from "./config/worker-config.ts";
import { readTextFile } from "./document/read-text-file.ts";
import { Executor } from "./executor.ts";
import { agentIdsOf } from "./inventory/agent-id.ts";
import { CurrentInventory } from "./inventory/current-inventory.ts";
import { parseInventory } from "./inventory/parse-inventory.ts";
import { resolveMachine } from "./inventory/resolve-machine.ts";
import { SecretCommands } from "./inventory/secret-commands.ts";
import type { ActionJournal } from "./journal/journal.ts";
import type { StateDirectory } from "./journal/state-directory.ts";
import { MachineLocks } from "./machine-locks.ts";
import { nobody, type Observer, type SeenAction } from "./observer.ts";
import type { OwnProgram } from "./own-program.ts";
import { decide, decideFile, decideMachine } from "./policy/decide.ts";
import { launchTerms } from "./policy/launch-terms.ts";
import { parsePolicy } from "./policy/parse-policy.ts";
import type { Policy } from "./policy/policy.ts";
import { unenforced } from "./policy/unenforced.ts";
import { reloadFiles, type WatchedFile } from "./reload.ts";
import { Reporter } from "./reporter.ts";
import { DockerRuntime } from "./runtime/docker/docker-runtime.ts";
import { InProcessRuntime } from "./runtime/in-process/in-process-runtime.ts";
import { ActionFolder, OwnActions } from "./runtime/process/action-program.ts";
import { ProcessRuntime } from "./runtime/process/process-runtime.ts";
import { type FilePermit, refusalOf } from "./runtime/process/refusal.ts";
import type { Runtime } from "./runtime/runtime.ts";
import { connectServer } from "./transport/connect-server.ts";
import type { StatusSink } from "./transport/transport.ts";
import { type LaneChanges, Worker } from "./worker.ts";

/** What a standing worker is given beside its configuration. */
export interface WorkerSurroundings {
  readonly log: Logger;
  readonly own: OwnProgram;
  readonly state: StateDirectory;
  readonly journal: ActionJournal;
  readonly clock?: Clock;
  readonly observer?: Observer;
  /** Variables that join an action to its trace. */
  readonly traceEnvironment?: TraceEnvironment;
}

type TraceEnvironment = (action: SeenAction) => Readonly<Record<string, string>>;

const noTrace: TraceEnvironment = () => ({});

/** What may change while a worker runs. */
interface Current {
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
  }: WorkerSurroundings,
): Worker {
  const current: Current = { inventory: new CurrentInventory(config.inventory), policy: config.policy };
  const transport = connectServer(config.server, log);
  const runtime = composeRuntime(config, { log, own, state, policy: () => current.policy });
  const agentIds = () =>
    agentIdsOf(config.fixedAgentIds, config.agentIdPattern, current.inventory.machines());
  const slots = new ActionSlots(config.maxActions);
  const worker: Worker = new Worker({
    agentIds,
    transport,
    runtime,
    executor: composeExecutor(config, {
      ...{ current, sink: transport, runtime, slots, journal, log, clock, observer, traceEnvironment },
    }),
    observer,
    facts: {
      machines: () => current.inventory.machines().map(({ name }) => name),
      agentIds,
      slots: () => slots,
      unfinished: () => journal.unfinished().length,
      connected: () => transport.connected(),
      checkRuntime: (signal) => runtime.check(signal),
    },
    clock,
    log,
    maxBackoffMs: config.backoffMaxIntervalMs,
    shutdownGraceMs: config.shutdownGraceMs,
    companions: [
      (stop) =>
        config.reloadIntervalMs === 0
          ? Promise.resolve()
          : reloadFiles(
              {
                files: watchedFiles(config, current, () => laneFields(worker.setAgentIds(agentIds()))),
                intervalMs: config.reloadIntervalMs,
                readFile: readTextFile,
                clock,
                log,
                observer,
              },
              stop,
            ),
    ],
  });
  return worker;
}

/** The operator's files, and what taking one over means. */
function watchedFiles(
  { watched: { inventory, policy }, runtime }: WorkerConfig,
  current: Current,
  machinesChanged: () => LogFields,
): readonly WatchedFile[] {
  const files: WatchedFile[] = [];
  if (inventory) {
    files.push({
      name: "inventory",
      ...inventory,
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
        current.policy = parsed.value;
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
  const named = (agentIds: readonly string[]) =>
    agentIds.length <= MOST_NAMED
      ? agentIds
      : [...agentIds.slice(0, MOST_NAMED), `${agentIds.length - MOST_NAMED} more`];
  return { lanesAdded: named(added), lanesRemoved: named(removed) };
}

/** What takes an action from permission to report. */
export function composeExecutor(
  config: ExecutionConfig,
  parts: {
    readonly current?: Pick<Current, "inventory" | "policy">;
    readonly sink: StatusSink;
    readonly runtime: Runtime;
    readonly slots?: ActionSlots;
    readonly journal: ActionJournal;
    readonly log: Logger;
    readonly clock: Clock;
    readonly observer?: Observer;
    readonly traceEnvironment?: TraceEnvironment;
  },
): Executor {
  const { current = config, sink, runtime, journal, log, clock } = parts;
  const { observer = nobody, traceEnvironment = noTrace, slots = new ActionSlots(config.maxActions) } = parts;
  const secretCommands = new SecretCommands();
  return new Executor({
    permit: (action) => decide(current.policy, action),
    locate: (action) => {
      const { policy, inventory } = current;
      const located = resolveMachine(action, inventory, config.agentIdPattern, (machine) =>
        decideMachine(policy, action, machine),
      );
      return located.ok ? { ...located, terms: launchTerms(policy, action.image) } : located;
    },
    runtime,
    reporter: new Reporter({ sink, clock, log, maxBackoffMs: config.backoffMaxIntervalMs, observer }),
    locks: new MachineLocks(),
    slots,
    authGate: new AuthGate(),
    secretCommands,
    redactorOf: async (name, signal) => {
      const machine = current.inventory.find(name);
      if (!machine) throw new Error(`the inventory does not have ${name} any more`);
      const { secretNamespace } = runtime;
      // What the worker never had it cannot take out of text; actions take it out themselves.
      if (secretNamespace !== undefined && current.inventory.mountedConnection?.(machine, secretNamespace)) {
        return (text) => text;
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

export interface RuntimeSurroundings {
  readonly log: Logger;
  readonly own: OwnProgram;
  /** Absent for a run that ends with its process. */
  readonly state?: StateDirectory;
  readonly policy: () => Policy;
}

export function composeRuntime(
  { runtime, stopGraceMs }: ExecutionConfig,
  { log, own, state, policy }: RuntimeSurroundings,
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
        ...(state === undefined ? {} : { state }),
        ...(compileCacheDirectory === undefined ? {} : { compileCacheDirectory }),
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
    default:
      return runtime satisfies never;
  }
}
