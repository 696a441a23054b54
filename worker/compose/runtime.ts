import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { defined } from "../../shared/defined.ts";
import type { Logger } from "../../shared/logger.ts";
import type { Environment } from "../../shared/tracing/variables.ts";
import type { ExecutionConfig } from "../config/worker-config.ts";
import type { StateDirectory } from "../journal/state-directory.ts";
import { decideFile } from "../policy/decide.ts";
import type { Policy } from "../policy/policy.ts";
import { unenforced } from "../policy/unenforced.ts";
import { DockerRuntime } from "../runtime/docker/docker-runtime.ts";
import { type FilePermit, refusalOf } from "../runtime/host-refusal.ts";
import { InProcessRuntime } from "../runtime/in-process/in-process-runtime.ts";
import { actionFolder, ownActions } from "../runtime/process/action-program.ts";
import { ProcessRuntime } from "../runtime/process/process-runtime.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { SelfProgram } from "../runtime/self-program.ts";
import type { OpenedCluster } from "./cluster-services.ts";

export interface RuntimeOptions {
  readonly log: Logger;
  readonly own: SelfProgram;
  /** The worker's. Default: that of this process. */
  readonly env?: Environment;
  /** Absent for `pbnj-worker run`, which keeps no state. */
  readonly state?: StateDirectory;
  readonly policy: () => Policy;
  /** Absent without leader election. */
  readonly isLeading?: () => boolean;
  /** Set if the configuration uses a cluster. */
  readonly cluster?: OpenedCluster | undefined;
}

export function composeRuntime(config: ExecutionConfig, options: RuntimeOptions): Runtime {
  const { runtime, stopGraceMs } = config;
  const { log, own, env, state, policy, isLeading, cluster } = options;
  const { file, library, compileCacheDirectory } = own;
  for (const { source, message } of unenforced(policy(), runtime.kind)) log.warn({ source }, message);
  const permitFile: FilePermit = (name, action) => decideFile(policy(), action, name);
  switch (runtime.kind) {
    case "process":
      return new ProcessRuntime({
        programs:
          runtime.actionsDirectory === undefined
            ? ownActions(file, library)
            : actionFolder(runtime.actionsDirectory),
        permitFile,
        stopGraceMs,
        ...defined({ environment: env, state, compileCacheDirectory }),
      });
    case "in-process":
      return new InProcessRuntime({
        actions: library,
        refuse: (action) => refusalOf(action, permitFile),
        log,
        stopGraceMs,
      });
    case "docker": {
      const { network, memoryBytes, cpus, pids, user, engine, logins } = runtime;
      return new DockerRuntime({
        log,
        ...engine,
        ...logins,
        pullPolicy: runtime.pullPolicy,
        container: {
          worker: hostname(),
          instance: randomUUID(),
          ...defined({ state: state?.id }),
          network,
          memoryBytes,
          cpus,
          pids,
          user,
        },
        stopGraceMs,
      });
    }
    case "kubernetes":
      if (!cluster) throw new Error("the kubernetes runtime needs a cluster");
      return cluster.runtime({ config, pods: runtime, state, isLeading, library, log });
    default:
      return runtime satisfies never;
  }
}
