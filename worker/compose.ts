import { hostname } from "node:os";
import { type Clock, systemClock } from "../shared/clock.ts";
import type { Logger } from "../shared/logger.ts";
import type { ExecutionConfig, WorkerConfig } from "./config/worker-config.ts";
import { Executor } from "./executor.ts";
import { resolveMachine } from "./inventory/resolve-machine.ts";
import { MachineLocks } from "./machine-locks.ts";
import type { OwnProgram } from "./own-program.ts";
import { decide, decideFile } from "./policy/decide.ts";
import { Reporter } from "./reporter.ts";
import { DockerRuntime } from "./runtime/docker/docker-runtime.ts";
import { ActionFolder, OwnActions } from "./runtime/process/action-program.ts";
import { ProcessRuntime } from "./runtime/process/process-runtime.ts";
import type { Runtime } from "./runtime/runtime.ts";
import { createTinkTransport } from "./transport/tink/tink-transport.ts";
import type { StatusSink } from "./transport/transport.ts";
import { Worker } from "./worker.ts";

/** Builds a standing worker with everything in it. Opens nothing yet. */
export function composeWorker(
  config: WorkerConfig,
  log: Logger,
  own: OwnProgram,
  clock: Clock = systemClock,
): Worker {
  const transport = createTinkTransport(config.server);
  const runtime = composeRuntime(config, log, own);
  return new Worker({
    agentIds: config.agentIds,
    transport,
    runtime,
    executor: composeExecutor(config, { sink: transport, runtime, log, clock }),
    clock,
    log,
    maxBackoffMs: config.backoffMaxIntervalMs,
    shutdownGraceMs: config.shutdownGraceMs,
  });
}

/** What takes an action from permission to report. */
export function composeExecutor(
  config: ExecutionConfig,
  parts: {
    readonly sink: StatusSink;
    readonly runtime: Runtime;
    readonly log: Logger;
    readonly clock: Clock;
  },
): Executor {
  const { sink, runtime, log, clock } = parts;
  return new Executor({
    permit: (action) => decide(config.policy, action),
    locate: (action) => resolveMachine(action, config.inventory, config.agentIdPattern),
    runtime,
    reporter: new Reporter({ sink, clock, log, maxBackoffMs: config.backoffMaxIntervalMs }),
    locks: new MachineLocks(),
    clock,
    log,
    defaultTimeoutMs: config.defaultActionTimeoutMs,
  });
}

export function composeRuntime(
  { runtime, stopGraceMs, policy }: ExecutionConfig,
  log: Logger,
  { file, actions, compileCacheDirectory }: OwnProgram,
): Runtime {
  switch (runtime.kind) {
    case "process":
      return new ProcessRuntime({
        programs:
          runtime.actionsDirectory === undefined
            ? new OwnActions(file, actions)
            : new ActionFolder(runtime.actionsDirectory),
        permitFile: (file) => decideFile(policy, file),
        stopGraceMs,
        ...(compileCacheDirectory === undefined ? {} : { compileCacheDirectory }),
      });
    case "docker": {
      const { network, memoryBytes, cpus, pids, user, registryLogin } = runtime;
      return new DockerRuntime({
        log,
        socketPath: runtime.socketPath,
        pullPolicy: runtime.pullPolicy,
        container: { worker: hostname(), network, memoryBytes, cpus, pids, user },
        registries: registryLogin ? [registryLogin] : [],
        stopGraceMs,
      });
    }
    default:
      return runtime satisfies never;
  }
}
