import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { LABEL } from "../../worker/runtimes/docker/container-spec.ts";
import { dockerCli } from "../support/docker.ts";
import { containersOf } from "./engine.ts";

const PAUSE_MS = 50;

export interface WatcherOptions {
  readonly pid: number;
  readonly stateDirectory: string;
  readonly agentIds: readonly string[];
  readonly containers: boolean;
  /** Is given all that is read. */
  look(where: string, content: string | Buffer): void;
}

/**
 * Looks, for as long as an attack lasts, where other users of the host, a backup or the engine's users could see a secret:
 * arguments and environments of processes, files of the state directory, containers.
 */
export class Watcher {
  readonly #options: WatcherOptions;
  readonly #work: Promise<void>;
  #over = false;

  constructor(options: WatcherOptions) {
    this.#options = options;
    this.#work = this.#watch();
  }

  /** Looks at the files once more. */
  async end(): Promise<void> {
    this.#over = true;
    await this.#work;
    await this.#lookAtFiles();
  }

  async #watch(): Promise<void> {
    while (!this.#over) {
      await this.#lookAtProcesses();
      if (this.#options.containers) await this.#lookAtContainers();
      await sleep(PAUSE_MS);
    }
  }

  async #lookAtProcesses(): Promise<void> {
    for (const pid of await descendantsOf(this.#options.pid)) {
      this.#options.look("a process's arguments", await contentOf(`/proc/${pid}/cmdline`));
      this.#options.look("a process's environment", await contentOf(`/proc/${pid}/environ`));
    }
  }

  async #lookAtContainers(): Promise<void> {
    const ids = await containersOf(this.#options.agentIds, LABEL.agent).catch(() => []);
    for (const id of ids) {
      this.#options.look("docker inspect", await dockerCli("inspect", id).catch(() => ""));
    }
  }

  async #lookAtFiles(): Promise<void> {
    const { stateDirectory } = this.#options;
    const entries = await readdir(stateDirectory, { recursive: true, withFileTypes: true }).catch(() => []);
    for (const entry of entries.filter((each) => each.isFile())) {
      this.#options.look("the state directory", await contentOf(join(entry.parentPath, entry.name)));
    }
  }
}

async function contentOf(path: string): Promise<Buffer> {
  return readFile(path).catch(() => Buffer.alloc(0));
}

async function descendantsOf(root: number): Promise<readonly number[]> {
  const all = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
  const parents = await Promise.all(
    all.map(
      async (pid) =>
        [
          pid,
          Number(/^\d+ \(.*\) \S (\d+) /s.exec((await contentOf(`/proc/${pid}/stat`)).toString())?.[1]),
        ] as const,
    ),
  );
  const found = new Set([root]);
  for (const pid of found) for (const [child, parent] of parents) if (parent === pid) found.add(child);
  return [...found];
}
