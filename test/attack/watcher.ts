import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { LABEL } from "../../worker/runtimes/docker/container-spec.ts";
import { dockerCli } from "../support/docker.ts";
import { containersOf } from "./engine.ts";
import type { SecretSearch } from "./secret-traces.ts";

const PAUSE_MS = 50;

export interface WatcherOptions {
  readonly pid: number;
  readonly stateDirectory: string;
  readonly agentIds: readonly string[];
  readonly containers: boolean;
  readonly search: Pick<SecretSearch, "in">;
}

/**
 * Looks, for as long as an attack lasts, where other users of the host, a backup or the engine's users could see a secret:
 * arguments and environments of processes, files of the state directory, containers and their logs.
 */
export class Watcher {
  readonly #options: WatcherOptions;
  readonly #found = new Set<string>();
  readonly #work: Promise<void>;
  #over = false;

  constructor(options: WatcherOptions) {
    this.#options = options;
    this.#work = this.#watch();
  }

  /** Adds what is found in a text that is somewhere. */
  look(where: string, text: string): void {
    for (const form of this.#options.search.in(text))
      this.#found.add(`the password is in ${where} (${form})`);
  }

  /** Ends, and says where a secret was found. */
  async findings(): Promise<readonly string[]> {
    this.#over = true;
    await this.#work;
    await this.#lookAtFiles();
    return [...this.#found];
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
      this.look("a process's arguments", await textOf(`/proc/${pid}/cmdline`));
      this.look("a process's environment", await textOf(`/proc/${pid}/environ`));
    }
  }

  async #lookAtContainers(): Promise<void> {
    const ids = await containersOf(this.#options.agentIds, LABEL.agent).catch(() => []);
    for (const id of ids) {
      this.look("docker inspect", await dockerCli("inspect", id).catch(() => ""));
    }
  }

  async #lookAtFiles(): Promise<void> {
    const { stateDirectory } = this.#options;
    const entries = await readdir(stateDirectory, { recursive: true, withFileTypes: true }).catch(() => []);
    for (const entry of entries.filter((each) => each.isFile())) {
      this.look(`the state directory's ${entry.name}`, await textOf(join(entry.parentPath, entry.name)));
    }
  }
}

async function textOf(path: string): Promise<string> {
  return readFile(path, "utf8").catch(() => "");
}

async function descendantsOf(root: number): Promise<readonly number[]> {
  const all = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
  const parents = await Promise.all(
    all.map(
      async (pid) =>
        [pid, Number(/^\d+ \(.*\) \S (\d+) /s.exec(await textOf(`/proc/${pid}/stat`))?.[1])] as const,
    ),
  );
  const found = new Set([root]);
  for (const pid of found) for (const [child, parent] of parents) if (parent === pid) found.add(child);
  return [...found];
}
