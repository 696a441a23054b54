import { defined } from "../../../shared/defined.ts";
import { type ActionId, actionKey } from "../../action/action.ts";
import { bootTimeIn } from "../../action/boot-time.ts";
import type { LaunchRequest } from "../runtime.ts";

/** As `nonroot` in distroless images. */
const NON_ROOT = "65532:65532";

/**
 * The engine keeps this much output until the container is removed, for a worker that adopts it. This driver can be
 * read back (Docker names it `json-file`, Podman treats it as `k8s-file`). One of the two files is always complete,
 * and holds the longest result.
 */
const LOG_CONFIG = { Type: "json-file", Config: { "max-size": "16m", "max-file": "2" } } as const;

export interface ContainerOptions {
  readonly worker: string;
  readonly state?: string;
  /** Unique for this process, so that a sweep never removes what it has just launched. */
  readonly instance?: string;
  readonly network?: string;
  /** `uid:gid` for images without a user or with root. */
  readonly user?: string;
  readonly memoryBytes?: number;
  readonly cpus?: number;
  readonly pids?: number;
  readonly tmpBytes?: number;
  /**
   * Whether an init runs as PID 1 and forwards signals. Default: false, because not every engine has one, and a
   * program that ignores signals is killed after its grace period anyway.
   */
  readonly init?: boolean;
}

export const LABEL = {
  worker: "pbnj-worker.worker",
  state: "pbnj-worker.state",
  instance: "pbnj-worker.instance",
  key: "pbnj-worker.key",
  deadline: "pbnj-worker.deadline",
  /** The same as time since boot. */
  deadlineBootTime: "pbnj-worker.deadline-boot-time",
  workflow: "pbnj-worker.workflow",
  task: "pbnj-worker.task",
  agent: "pbnj-worker.agent",
  action: "pbnj-worker.action",
  actionName: "pbnj-worker.action-name",
} as const;

/**
 * `imageUser` is the image's own user: without one, or with root, the container runs as non-root, unless the policy
 * allows privileged. The entrypoint is the image's own.
 */
export function containerSpec(
  request: Pick<LaunchRequest, "action" | "connection" | "environment" | "terms" | "timeoutMs">,
  imageUser: string | undefined,
  options: ContainerOptions,
) {
  const { action, terms = {} } = request;
  const { privileged = false } = terms;
  const memory = terms.memoryBytes ?? options.memoryBytes ?? 256 * 1024 * 1024;
  const takesInput = request.connection !== undefined;
  const environment = {
    ...action.environment,
    ...request.environment,
    ...defined({ BMC_CONNECTION_FILE: takesInput ? "-" : undefined }),
  };
  return {
    Image: action.image,
    ...defined({
      Cmd: action.command.length > 0 ? action.command : undefined,
      User: isRoot(imageUser) && !privileged ? (options.user ?? NON_ROOT) : undefined,
    }),
    Env: Object.entries(environment).map(([name, value]) => `${name}=${value}`),
    Labels: actionLabels(action, options, request.timeoutMs),
    OpenStdin: takesInput,
    StdinOnce: takesInput,
    AttachStdin: takesInput,
    AttachStdout: true,
    AttachStderr: true,
    Tty: false,
    HostConfig: {
      AutoRemove: false,
      Privileged: privileged,
      ReadonlyRootfs: true,
      CapDrop: privileged ? [] : ["ALL"],
      SecurityOpt: privileged ? [] : ["no-new-privileges"],
      RestartPolicy: { Name: "no" },
      LogConfig: LOG_CONFIG,
      Init: options.init ?? false,
      Memory: memory,
      // Equal to `Memory`: no swap.
      MemorySwap: memory,
      NanoCpus: Math.round((terms.cpus ?? options.cpus ?? 1) * 1_000_000_000),
      PidsLimit: terms.pids ?? options.pids ?? 128,
      Tmpfs: { "/tmp": `rw,noexec,nosuid,nodev,mode=1777,size=${options.tmpBytes ?? 64 * 1024 * 1024}` },
      NetworkMode: action.networkNamespace || options.network || "bridge",
      ...defined({ PidMode: action.pidNamespace || undefined }),
      Binds: action.volumes,
    },
  };
}

/** The body of the request that creates a container. */
export type ContainerSpec = ReturnType<typeof containerSpec>;

export function actionLabels(
  action: ActionId,
  { worker, state, instance }: Pick<ContainerOptions, "worker" | "state" | "instance">,
  timeoutMs: number,
): Record<string, string> {
  return {
    ...defined({
      [LABEL.state]: state,
      [LABEL.instance]: instance,
      [LABEL.deadlineBootTime]: bootTimeIn(timeoutMs),
    }),
    [LABEL.worker]: worker,
    [LABEL.key]: actionKey(action),
    [LABEL.deadline]: new Date(Date.now() + timeoutMs).toISOString(),
    [LABEL.workflow]: action.workflowId,
    [LABEL.task]: action.taskId,
    [LABEL.agent]: action.agentId,
    [LABEL.action]: action.actionId,
    [LABEL.actionName]: action.name,
  };
}

/**
 * Whether a container with these labels belongs to the action. The worker's name does not matter: the agent ID is the
 * worker's identity towards the server, even on a renamed host.
 */
export function isContainerOf(action: ActionId, labels: Readonly<Record<string, string>>): boolean {
  return (
    labels[LABEL.worker] !== undefined &&
    labels[LABEL.workflow] === action.workflowId &&
    labels[LABEL.agent] === action.agentId &&
    labels[LABEL.action] === action.actionId
  );
}

/** Docker accepts `name`, `uid`, `name:group` or `uid:gid`. */
function isRoot(user: string | undefined): boolean {
  const name = user?.split(":")[0] ?? "";
  return name === "" || name === "root" || /^0+$/.test(name);
}
