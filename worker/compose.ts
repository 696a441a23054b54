import { existsSync } from "node:fs";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Clock, systemClock } from "../shared/clock.ts";
import type { Logger } from "../shared/logger.ts";
import type { ExecutionConfig, WorkerConfig } from "./config/worker-config.ts";
import { Executor } from "./executor.ts";
import { resolveMachine } from "./inventory/resolve-machine.ts";
import { MachineLocks } from "./machine-locks.ts";
import { decide } from "./policy/decide.ts";
import { Reporter } from "./reporter.ts";
import { DockerRuntime } from "./runtime/docker/docker-runtime.ts";
import { ProcessRuntime } from "./runtime/process/process-runtime.ts";
import type { Runtime } from "./runtime/runtime.ts";
import { createTinkTransport } from "./transport/tink/tink-transport.ts";
import type { StatusSink } from "./transport/transport.ts";
import { Worker } from "./worker.ts";

const HERE = dirname(fileURLToPath(import.meta.url));

/** Builds a standing worker with everything in it. Opens nothing yet. */
export function composeWorker(config: WorkerConfig, log: Logger, clock: Clock = systemClock): Worker {
  const transport = createTinkTransport(config.server);
  const runtime = composeRuntime(config, log);
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

export function composeRuntime({ runtime, stopGraceMs }: ExecutionConfig, log: Logger): Runtime {
  switch (runtime.kind) {
    case "process":
      return new ProcessRuntime({
        actionsDirectory: runtime.actionsDirectory ?? ownActions(),
        stopGraceMs,
        ...compileCache(),
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

/** The actions that came with this worker: beside its bundle, or in the repository it runs from. */
function ownActions(): string {
  const beside = join(HERE, "actions");
  return existsSync(beside) ? beside : join(HERE, "..", "actions");
}

/** In a repository, what Node compiled is kept between runs; beside a bundle an image brings its own. */
function compileCache(): { readonly compileCacheDirectory?: string } {
  const modules = join(HERE, "..", "node_modules");
  return existsSync(modules) ? { compileCacheDirectory: join(modules, ".cache", "pbnj-worker") } : {};
}
