import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { parseImageReference } from "../../shared/contract/image-reference.ts";
import { defined } from "../../shared/defined.ts";
import type { Logger } from "../../shared/logger.ts";
import type { Environment } from "../../shared/tracing/variables.ts";
import type { StateDirectory } from "../core/journal/state-directory.ts";
import type { Runtime } from "../core/ports/runtime.ts";
import type { Cluster } from "../kubernetes/client/cluster.ts";
import { decideFile } from "../policy/decide.ts";
import type { Policy } from "../policy/policy.ts";
import { unenforced } from "../policy/unenforced.ts";
import { type FilePermit, refusalOf } from "../runtimes/host-refusal.ts";
import type { SelfProgram } from "../runtimes/self-program.ts";
import type { WorkerConfig } from "./settings.ts";

export interface RuntimeOptions {
  readonly log: Logger;
  readonly own: SelfProgram;
  /** The environment of the worker. Default: that of this process. */
  readonly env?: Environment;
  /** Absent for `pbnj-worker run`, which keeps no state. */
  readonly state?: StateDirectory;
  readonly policy: () => Policy;
  /** Absent without leader election. */
  readonly isLeading?: () => boolean;
  /** Set if the configuration uses a cluster. */
  readonly cluster?: Cluster | undefined;
}

/** Creates the runtime. Loads only the code of the runtime that is used. */
export async function composeRuntime(config: WorkerConfig, options: RuntimeOptions): Promise<Runtime> {
  const { runtime, stopGraceMs } = config;
  const { log, own, env, state, policy, isLeading, cluster } = options;
  const { file, library, compileCacheDirectory } = own;
  for (const { source, message } of unenforced(policy(), runtime.kind)) log.warn({ source }, message);
  const permitFile: FilePermit = (name, action) => decideFile(policy(), action, name);
  switch (runtime.kind) {
    case "process": {
      const { ProcessRuntime } = await import("../runtimes/process/process-runtime.ts");
      const { actionFolder, ownActions } = await import("../runtimes/process/action-program.ts");
      return new ProcessRuntime({
        programs:
          runtime.actionsDirectory === undefined
            ? ownActions(file, library)
            : actionFolder(runtime.actionsDirectory),
        permitFile,
        stopGraceMs,
        ...defined({ environment: env, state, compileCacheDirectory }),
      });
    }
    case "in-process": {
      const { InProcessRuntime } = await import("../runtimes/in-process/in-process-runtime.ts");
      return new InProcessRuntime({
        actions: library,
        refuse: (action) => refusalOf(action, permitFile),
        log,
        stopGraceMs,
      });
    }
    case "docker": {
      const { DockerRuntime } = await import("../runtimes/docker/docker-runtime.ts");
      const { network, memoryBytes, cpus, pids, user, engine, logins } = runtime;
      return new DockerRuntime({
        log,
        ...engine,
        ...logins,
        pullPolicy: runtime.pullPolicy,
        actionNames: own.actions,
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
    case "kubernetes": {
      if (!cluster) throw new Error("the kubernetes runtime needs a cluster");
      const { KubernetesRuntime } = await import("../runtimes/kubernetes/kubernetes-runtime.ts");
      const group = config.leaderElection?.group;
      return new KubernetesRuntime({
        cluster,
        pods: runtime,
        owner: group ?? state?.id ?? randomUUID(),
        shared: group !== undefined,
        isLeading,
        log,
        stopGraceMs,
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
