import { type ChildProcess, spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { constants, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { V1Container } from "@kubernetes/client-node";
import { WORKER_RESULT_FILE } from "../../../shared/contract/result.ts";
import { defined } from "../../../shared/defined.ts";
import type { KubeObject } from "../api/object.ts";
import type { ClusterAccess } from "./cluster-access.ts";
import { ClusterError } from "./cluster-client.ts";
import { Kubelet, type KubeletOptions } from "./kubelet.ts";
import { MountError, mountedFiles } from "./mounted-files.ts";
import { corePath } from "./paths.ts";
import { podSpecOf, podStatusOf } from "./pod-status.ts";

export interface RunningKubeletOptions extends KubeletOptions {
  /** Returns the program, with its arguments, that runs instead of a container of the image. */
  readonly commandOf: (image: string, args: readonly string[]) => readonly string[];
  /** The namespace of the pods to run. Defaults to all namespaces. */
  readonly namespace?: string;
}

interface RunningContainer {
  readonly child: ChildProcess;
  readonly ended: AbortController;
  isStopping: boolean;
}

interface Launch {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

const RETRY_DELAY_MS = 100;
/** The size of the log tail that FallbackToLogsOnError uses. */
const FALLBACK_BYTES = 2_048;

/**
 * A kubelet that takes every pod without a node and runs its container as a process in its own folder, with the variables,
 * arguments and mounted files of the pod.
 */
export class RunningKubelet extends Kubelet {
  readonly #commandOf: RunningKubeletOptions["commandOf"];
  readonly #pods: string;
  readonly #running = new Map<string, RunningContainer>();
  readonly #seen = new Set<string>();
  readonly #tasks = new Set<Promise<void>>();
  readonly #stopping = new AbortController();
  #following: Promise<void> = Promise.resolve();

  constructor(access: ClusterAccess, options: RunningKubeletOptions) {
    super(access, options);
    this.#commandOf = options.commandOf;
    this.#pods = options.namespace === undefined ? "/api/v1/pods" : corePath(options.namespace, "pods");
  }

  static async run(access: ClusterAccess, options: RunningKubeletOptions): Promise<RunningKubelet> {
    const kubelet = new RunningKubelet(access, options);
    await kubelet.register();
    kubelet.#following = kubelet.#follow();
    return kubelet;
  }

  /** Kills all processes and stops. */
  override async close(): Promise<void> {
    this.#stopping.abort();
    await this.#following;
    for (const { child } of this.#running.values()) child.kill("SIGKILL");
    await Promise.all(this.#tasks);
    await super.close();
  }

  /** The process IDs of the containers. */
  get pids(): readonly number[] {
    return [...this.#running.values()].flatMap(({ child }) => child.pid ?? []);
  }

  /** Kills a container, as the kernel does at a memory limit. Returns false if none is running. */
  killOne(): boolean {
    const [running] = this.#running.values();
    return running?.child.kill("SIGKILL") ?? false;
  }

  async #follow(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        for await (const { type, object } of this.client.watch(this.#pods, "", signal))
          if (type === "ADDED" || type === "MODIFIED") this.#onPod(object);
      } catch {
        // The server is unavailable.
      }
      await this.clock.sleep(RETRY_DELAY_MS, signal).catch(() => undefined);
    }
  }

  #onPod(pod: KubeObject): void {
    const { uid = "", deletionTimestamp, deletionGracePeriodSeconds = 30 } = pod.metadata;
    const running = this.#running.get(uid);
    if (deletionTimestamp) {
      if (running && !running.isStopping) this.#track(this.#stop(running, deletionGracePeriodSeconds));
    } else if (!this.#seen.has(uid) && !pod.spec?.["nodeName"] && podStatusOf(pod).phase === "Pending") {
      this.#seen.add(uid);
      this.#track(this.#run(pod));
    }
  }

  #track(task: Promise<void>): void {
    const safe = task.catch((thrown: unknown) => {
      // The pod or the server is gone.
      if (!(thrown instanceof ClusterError) && !this.#stopping.signal.aborted) throw thrown;
    });
    this.#tasks.add(safe);
    const ended = () => this.#tasks.delete(safe);
    safe.then(ended, ended);
  }

  async #run(pod: KubeObject): Promise<void> {
    const [container] = podSpecOf(pod).containers;
    if (!container) return;
    await this.schedule(pod);
    const folder = await mkdtemp(join(tmpdir(), "pod-"));
    try {
      const launch = await this.#prepare(pod, container, folder);
      await this.#execute(pod, container, launch, join(folder, "termination-log"));
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  /** Prepares a container and retries while a Secret is missing. Rejects if the pod is removed in the meantime. */
  async #prepare(pod: KubeObject, container: V1Container, folder: string): Promise<Launch> {
    const root = join(folder, "root");
    for (;;) {
      try {
        for (const { path, content, mode } of await mountedFiles(this.client, pod, container)) {
          await mkdir(dirname(join(root, path)), { recursive: true });
          await writeFile(join(root, path), content, { mode: mode | 0o400 });
        }
        break;
      } catch (thrown) {
        if (!(thrown instanceof MountError)) throw thrown;
        await this.event(pod, "Warning", "FailedMount", thrown.message);
        await this.clock.sleep(RETRY_DELAY_MS, this.#stopping.signal);
        await this.pod(pod);
      }
    }
    // Paths below a mount are below the pod's folder here, and `$$` becomes `$` as in kubelets.
    const here = (text: string) => {
      const mount = container.volumeMounts?.find(({ mountPath }) => text.includes(mountPath))?.mountPath;
      const path = mount === undefined ? text : text.replaceAll(mount, join(root, mount));
      return path.replaceAll("$$", () => "$");
    };
    const env = (container.env ?? []).map(({ name, value = "" }) => [name, here(value)]);
    return {
      argv: this.#commandOf(container.image ?? "", (container.args ?? []).map(here)),
      env: {
        PATH: process.env["PATH"] ?? "",
        ...Object.fromEntries(env),
        [WORKER_RESULT_FILE]: join(folder, "termination-log"),
      },
    };
  }

  async #execute(
    pod: KubeObject,
    { name, terminationMessagePolicy }: V1Container,
    { argv, env }: Launch,
    resultFile: string,
  ): Promise<void> {
    const [program = "", ...args] = argv;
    const startedAt = this.clock.now();
    const child = spawn(program, args, { env, stdio: ["ignore", "pipe", "pipe"] });
    const { uid = "" } = pod.metadata;
    let tail = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => {
        tail = `${tail}${text}`.slice(-FALLBACK_BYTES);
        this.log(pod, name, text);
      });
    const closed = Promise.withResolvers<number>();
    child.once("error", () => closed.resolve(128));
    child.once("close", (code, signal) =>
      closed.resolve(code ?? 128 + constants.signals[signal ?? "SIGKILL"]),
    );
    const ended = new AbortController();
    this.#running.set(uid, { child, ended, isStopping: false });
    try {
      await this.start(pod, name).catch(ifGone);
      const exitCode = await closed.promise;
      ended.abort();
      const written = await readFile(resultFile, "utf8").catch(() => "");
      const isFallback = terminationMessagePolicy === "FallbackToLogsOnError" && exitCode !== 0;
      const message = written || (isFallback && tail) || undefined;
      const end = { container: name, exitCode, startedAt, finishedAt: this.clock.now() };
      if (!this.#stopping.signal.aborted)
        await this.finish(pod, { ...end, ...defined({ message }) }).catch(ifGone);
    } finally {
      this.#running.delete(uid);
    }
  }

  /** Sends SIGTERM, and SIGKILL after the grace period. */
  async #stop(running: RunningContainer, graceSeconds: number): Promise<void> {
    running.isStopping = true;
    running.child.kill("SIGTERM");
    const signal = AbortSignal.any([running.ended.signal, this.#stopping.signal]);
    await this.clock.sleep(graceSeconds * 1_000, signal).catch(() => undefined);
    if (!running.ended.signal.aborted) running.child.kill("SIGKILL");
  }
}

function ifGone(thrown: unknown): void {
  if (!(thrown instanceof ClusterError)) throw thrown;
}
