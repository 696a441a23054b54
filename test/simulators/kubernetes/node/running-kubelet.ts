import { type ChildProcess, spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { constants, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { V1Container } from "@kubernetes/client-node";
import { WORKER_RESULT_FILE } from "../../../../shared/contract/result.ts";
import { textOf } from "../../../../shared/text-of.ts";
import type { KubeObject } from "../api/object.ts";
import type { ClusterAccess } from "../cluster.ts";
import { specOf } from "../kinds/pod.ts";
import { ClusterError } from "./cluster-client.ts";
import { Kubelet, type KubeletOptions } from "./kubelet.ts";
import { expanded, MountError, mountedFiles, variablesOf } from "./mounted-files.ts";
import { type ContainerEnd, podStatusOf } from "./pod-status.ts";

export interface RunningKubeletOptions extends KubeletOptions {
  /** The program and its arguments that stand for a container of the image. Throws for an image that nobody has. */
  readonly commandOf: (image: string, args: readonly string[]) => readonly string[];
  /** What every process gets besides the container's own; the PATH of this one when absent. */
  readonly environment?: Readonly<Record<string, string>>;
}

interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<void>;
  stopping: boolean;
}

const PODS = "/api/v1/pods";
const RETRY_DELAY_MS = 100;
/** By the kubelet, for FallbackToLogsOnError. */
const FALLBACK_BYTES = 2_048;

/**
 * A kubelet that takes every pod without a node and runs its container as a process of this machine: variables,
 * arguments and mounted files as the pod has them, below a folder of its own.
 */
export class RunningKubelet extends Kubelet {
  readonly #commandOf: RunningKubeletOptions["commandOf"];
  readonly #environment: Readonly<Record<string, string>>;
  readonly #running = new Map<string, Running>();
  readonly #begun = new Set<string>();
  readonly #work = new Set<Promise<void>>();
  readonly #stopping = new AbortController();
  #following: Promise<void> = Promise.resolve();

  constructor(access: ClusterAccess, options: RunningKubeletOptions) {
    super(access, options);
    this.#commandOf = options.commandOf;
    this.#environment = options.environment ?? { PATH: process.env["PATH"] ?? "" };
  }

  static async run(access: ClusterAccess, options: RunningKubeletOptions): Promise<RunningKubelet> {
    const kubelet = new RunningKubelet(access, options);
    await kubelet.register();
    kubelet.#following = kubelet.#follow();
    return kubelet;
  }

  /** Processes that run now. */
  get processes(): number {
    return this.#running.size;
  }

  /** Kills what runs. */
  override async close(): Promise<void> {
    this.#stopping.abort();
    await this.#following;
    for (const { child } of this.#running.values()) child.kill("SIGKILL");
    await Promise.all(this.#work);
    await super.close();
  }

  async #follow(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        const { items, resourceVersion } = await this.client.list(PODS);
        for (const item of items) this.#look(item);
        for await (const { type, object } of this.client.watch(PODS, resourceVersion, signal)) {
          if (type === "ERROR") break;
          if (type === "ADDED" || type === "MODIFIED") this.#look(object);
        }
      } catch (thrown) {
        if (signal.aborted) return;
        if (!(thrown instanceof Error)) throw thrown;
      }
      await this.clock.sleep(RETRY_DELAY_MS, signal).catch(() => undefined);
    }
  }

  #look(pod: KubeObject): void {
    const { uid = "", deletionTimestamp, deletionGracePeriodSeconds = 30 } = pod.metadata;
    const node = pod.spec?.["nodeName"];
    const running = this.#running.get(uid);
    if (deletionTimestamp) {
      if (running && !running.stopping) this.#track(this.#stop(running, deletionGracePeriodSeconds));
      return;
    }
    if (this.#begun.has(uid) || (node !== undefined && node !== this.node)) return;
    if (!["Pending", undefined].includes(podStatusOf(pod).phase)) return;
    this.#begun.add(uid);
    this.#track(this.#run(pod, node === undefined));
  }

  #track(work: Promise<void>): void {
    const safe = work.catch((thrown: unknown) => {
      // The pod or the server went meanwhile.
      if (!(thrown instanceof ClusterError) && !this.#stopping.signal.aborted) throw thrown;
    });
    this.#work.add(safe);
    void safe.finally(() => this.#work.delete(safe));
  }

  async #run(pod: KubeObject, unscheduled: boolean): Promise<void> {
    const [container] = specOf(pod).containers;
    if (!container) return;
    if (unscheduled) await this.schedule(pod);
    const folder = await mkdtemp(join(tmpdir(), "pod-"));
    try {
      const launch = await this.#prepare(pod, container, folder);
      if (launch) await this.#execute(pod, container, launch, join(folder, "termination-log"));
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  /** Undefined when the pod went before it could begin. */
  async #prepare(pod: KubeObject, container: V1Container, folder: string): Promise<Launch | undefined> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        const files = await mountedFiles(this.client, pod, container);
        const root = join(folder, "root");
        for (const { path, content, mode } of files) {
          await mkdir(dirname(join(root, path)), { recursive: true });
          await writeFile(join(root, path), content, { mode: mode | 0o400 });
        }
        for (const { mountPath } of container.volumeMounts ?? [])
          if (!files.some(({ path }) => path === mountPath))
            await mkdir(join(root, mountPath), { recursive: true });
        const mounts = (container.volumeMounts ?? []).map(({ mountPath }) => mountPath);
        const here = (text: string) => rewritten(text, mounts, root);
        const variables = await variablesOf(this.client, pod, container);
        const texts = [...(container.command ?? []), ...(container.args ?? [])];
        const args = texts.map((text) => here(expanded(text, variables)));
        const argv = this.#commandOf(container.image ?? "", args);
        const env = Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, here(value)]));
        return {
          argv,
          env: { ...this.#environment, ...env, [WORKER_RESULT_FILE]: join(folder, "termination-log") },
        };
      } catch (thrown) {
        if (thrown instanceof ClusterError) throw thrown;
        const missing = thrown instanceof MountError;
        const why = textOf(thrown);
        const reason = missing ? "ContainerCreating" : "ErrImagePull";
        await this.waiting(pod, reason, missing ? undefined : why, container.name);
        if (missing) await this.event(pod, "Warning", "FailedMount", why);
        await this.clock.sleep(RETRY_DELAY_MS, signal).catch(() => undefined);
        const now = await this.client.find(
          `/api/v1/namespaces/${pod.metadata.namespace}/pods/${pod.metadata.name}`,
        );
        if (now?.metadata.uid !== pod.metadata.uid || now?.metadata.deletionTimestamp) return undefined;
      }
    }
    return undefined;
  }

  async #execute(
    pod: KubeObject,
    { name, ...container }: V1Container,
    { argv, env }: Launch,
    resultFile: string,
  ): Promise<void> {
    const [program = "", ...args] = argv;
    const startedAt = this.clock.now();
    const child = spawn(program, args, { env, stdio: ["ignore", "pipe", "pipe"] });
    const { uid = "" } = pod.metadata;
    let tail = "";
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding("utf8").on("data", (text: string) => {
        tail = `${tail}${text}`.slice(-FALLBACK_BYTES);
        this.log(pod, name, text);
      });
    const closed = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
      child.once("error", () => resolve({ code: 128, signal: null }));
      child.once("close", (code, signal) => resolve({ code, signal }));
    });
    this.#running.set(uid, { child, ended: closed.then(() => undefined), stopping: false });
    try {
      await this.start(pod, name).catch(ifGone);
      const { code, signal } = await closed;
      const written = await readFile(resultFile, "utf8").catch(() => "");
      const exitCode = code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
      const fallback =
        container.terminationMessagePolicy === "FallbackToLogsOnError" && exitCode !== 0 ? tail : "";
      const message = written === "" ? fallback : written;
      const end: ContainerEnd = { container: name, exitCode, startedAt, finishedAt: this.clock.now() };
      if (!this.#stopping.signal.aborted)
        await this.finish(pod, { ...end, ...(message === "" ? {} : { message }) }).catch(ifGone);
    } finally {
      this.#running.delete(uid);
    }
  }

  /** SIGTERM, the grace, SIGKILL. */
  async #stop(running: Running, graceSeconds: number): Promise<void> {
    running.stopping = true;
    running.child.kill("SIGTERM");
    const over = new AbortController();
    void running.ended.then(() => over.abort());
    await this.clock
      .sleep(graceSeconds * 1_000, AbortSignal.any([over.signal, this.#stopping.signal]))
      .catch(() => undefined);
    if (!over.signal.aborted) running.child.kill("SIGKILL");
    await running.ended;
  }
}

interface Launch {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** Paths below a mount are below the pod's folder here. */
function rewritten(text: string, mounts: readonly string[], root: string): string {
  const [mount] = mounts.filter((path) => text.includes(path)).toSorted((a, b) => b.length - a.length);
  return mount === undefined ? text : text.replaceAll(mount, join(root, mount));
}

function ifGone(thrown: unknown): void {
  if (!(thrown instanceof ClusterError)) throw thrown;
}
