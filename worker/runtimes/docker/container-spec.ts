import { posix } from "node:path";
import { engineImage } from "../../../shared/contract/image-reference.ts";
import { defined } from "../../../shared/defined.ts";
import { excessOf } from "../../../shared/input-limits.ts";
import { type ActionId, actionKey } from "../../core/action/action.ts";
import { bootTimeIn } from "../../core/action/boot-time.ts";
import type { LaunchRequest } from "../../core/ports/runtime.ts";
import type { ImageConfig } from "./engine-schema.ts";

/** The user `nonroot` of distroless images. */
const NON_ROOT = "65532:65532";
const TMP_BYTES = 64 * 1024 * 1024;

/**
 * The engine keeps this much output until the container is removed, for a worker that adopts it. This driver can be
 * read back (Docker names it `json-file`, Podman treats it as `k8s-file`). One of the two files is always complete,
 * and holds the longest result.
 */
const LOG_CONFIG = { Type: "json-file", Config: { "max-size": "16m", "max-file": "2" } } as const;

export interface ContainerOptions {
  readonly worker: string;
  readonly state?: string;
  /** Unique for this process, so that a sweep never removes a container that was just launched. */
  readonly instance?: string;
  readonly network?: string;
  /** `uid:gid`, or `uid` for both, for images whose user is root, a name or absent. */
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
  /** The deadline as a boot time. */
  deadlineBootTime: "pbnj-worker.deadline-boot-time",
  workflow: "pbnj-worker.workflow",
  task: "pbnj-worker.task",
  agent: "pbnj-worker.agent",
  action: "pbnj-worker.action",
  actionName: "pbnj-worker.action-name",
} as const;

/**
 * The container of an action. User and group are always numbers and not root, whatever the image says, unless the policy
 * allows privileged. The entrypoint is the image's own, and its VOLUMEs are in memory: on the host's disk they would have
 * no limit.
 */
export function containerSpec(
  request: LaunchRequest,
  image: ImageConfig | undefined,
  options: ContainerOptions,
) {
  const { action, terms = {} } = request;
  const { privileged = false } = terms;
  const tmpBytes = options.tmpBytes ?? TMP_BYTES;
  const memory = terms.memoryBytes ?? options.memoryBytes ?? 256 * 1024 * 1024;
  const takesInput = request.connection !== undefined;
  const environment = {
    ...action.environment,
    ...request.environment,
    ...defined({ BMC_CONNECTION_FILE: takesInput ? "-" : undefined }),
  };
  return {
    Image: engineImage(action.image),
    ...defined({
      Cmd: action.command.length > 0 ? action.command : undefined,
      User: privileged ? undefined : (numericUser(image?.User) ?? numericUser(options.user) ?? NON_ROOT),
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
      // A limit equal to `Memory` disables swap.
      MemorySwap: memory,
      NanoCpus: Math.round((terms.cpus ?? options.cpus ?? 1) * 1_000_000_000),
      PidsLimit: terms.pids ?? options.pids ?? 128,
      Tmpfs: { "/tmp": `rw,noexec,nosuid,nodev,mode=1777,size=${tmpBytes}` },
      NetworkMode: action.networkNamespace || options.network || "bridge",
      ...defined({ PidMode: action.pidNamespace || undefined }),
      // `Binds` would make Docker create a missing source on the host, as root.
      Mounts: [
        ...action.volumes.map(bindMount),
        ...volumesInMemory(image?.Volumes, action.volumes, tmpBytes),
      ],
    },
  };
}

/** The body of the request that creates a container. */
export type ContainerSpec = ReturnType<typeof containerSpec>;

export function actionLabels(
  action: ActionId,
  { worker, state, instance }: ContainerOptions,
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

const HIGHEST_ID = 2 ** 31 - 1;

/**
 * The `uid:gid` of an image's user if it is a number above 0. A name means whatever the image's own /etc/passwd says, which
 * may be 0; without a group, an engine takes one from there, or 0.
 */
function numericUser(user: string | null | undefined): string | undefined {
  const [, uid, gid = uid] = /^(\d{1,10})(?::(\d{1,10}))?$/.exec(user ?? "") ?? [];
  const ids = [uid, gid].map(Number);
  return ids.every((id) => id > 0 && id <= HIGHEST_ID) ? ids.join(":") : undefined;
}

/** `source:target` or `source:target:ro`; the policy allows no other options. */
function bindMount(volume: string) {
  const [Source = "", Target = "", options = ""] = volume.split(":");
  return { Type: "bind", Source, Target, ReadOnly: options.split(",").includes("ro") } as const;
}

/** A volume that the action mounts at the same place replaces the image's. */
function volumesInMemory(volumes: ImageConfig["Volumes"], mounted: readonly string[], SizeBytes: number) {
  const taken = [...mounted.map((volume) => volume.split(":")[1] ?? ""), "/tmp"].map(normalize);
  const places = new Set(Object.keys(volumes ?? {}).map((place) => normalize(`/${place}`)));
  return [...places]
    .filter((place) => !taken.includes(place))
    .map((Target) => ({ Type: "tmpfs", Target, TmpfsOptions: { SizeBytes, Mode: 0o1777 } }) as const);
}

/**
 * Why a volume must not be mounted into an image; undefined if it may. It would hide or replace a part of the image's
 * program, or contain the mount point of one of the image's volumes, which may have been replaced by a link.
 */
export function mountProblem(volumes: readonly string[], image: ImageConfig | undefined): string | undefined {
  const excess = excessOf(image, "imageConfig");
  if (excess !== undefined) return `the image's configuration ${excess}`;
  const programs = programPlaces(image);
  const home = normalize(image?.Env?.findLast((variable) => variable.startsWith("HOME="))?.slice(5) || "/");
  const own = Object.keys(image?.Volumes ?? {}).map((place) => normalize(`/${place}`));
  for (const volume of volumes) {
    const target = normalize(volume.split(":")[1] ?? "");
    const program = programs.find((each) => isWithin(each, target) || isWithin(target, each));
    if (program !== undefined) return `${volume} cannot be mounted: the image has its program in ${program}`;
    // Interpreters load modules from hidden folders in it.
    if (isWithin(home, target) || target.startsWith(`${home}/.`))
      return `${volume} cannot be mounted: the image has its home in ${home}`;
    const inner = own.find((each) => each !== target && isWithin(each, target));
    if (inner !== undefined)
      return `${volume} cannot be mounted: the image has a volume of its own in ${inner}`;
  }
  return undefined;
}

/** Variables with folders from which shells, linkers and interpreters load code, such as NODE_PATH and LD_PRELOAD. */
const LOADS_CODE = /^(?:LD_\w+|(?:BASH_)?ENV|\w*(?:PATH|LIB|OPTIONS|OPT|_HOME|STARTUP)|PYTHONHOME)=/;

function absolutePathsIn(text: string): readonly string[] {
  return text.match(/(?<=^|[^\w./-]|(?:^|\s)-\w)\/[^\s"'`;|&()<>:=,]+/g) ?? [];
}

/** The files that an image's command names, their folders, and the folders that are searched for programs and libraries. */
function programPlaces({ Entrypoint, Cmd, WorkingDir, Env }: ImageConfig = {}): readonly string[] {
  const parts = [...(Entrypoint ?? []), ...(Cmd ?? [])];
  // Files may also be in the text of a shell's command, or in a flag.
  const files = parts.flatMap(absolutePathsIn);
  // Such as `node main.mjs`. The first part without a slash is looked up in PATH.
  const hasRelative = parts.some((part, index) => /^[^/-]/.test(part) && (index > 0 || part.includes("/")));
  const searched = (Env ?? []).filter((variable) => LOADS_CODE.test(variable)).flatMap(absolutePathsIn);
  return [
    ...files,
    ...files.map((file) => posix.dirname(file)),
    ...searched,
    (hasRelative && WorkingDir) || "/",
  ]
    .map((place) => normalize(`/${place}`))
    .filter((place) => place !== "/");
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === "/" ? "/" : `${folder}/`);
}

function normalize(place: string): string {
  return posix.normalize(place).replace(/(.)\/$/, "$1");
}
