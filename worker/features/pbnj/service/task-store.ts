import { readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../../../shared/clock.ts";
import type { Logger } from "../../../../shared/logger.ts";
import { makeFolder } from "../../../../shared/make-folder.ts";
import { textOf } from "../../../../shared/text-of.ts";
import { PART, replaceTextFile, SyncedFolder } from "../../../core/journal/durable-file.ts";
import { TaskRecord } from "./task-record.ts";

export interface TaskStoreOptions {
  /** A directory that only the store uses; it is created if it is missing. */
  readonly directory: string;
  readonly clock: Clock;
  readonly log: Logger;
}

const ENDING = ".json";
/** The maximum number of ended tasks to keep. */
const MOST_ENDED = 5_000;
const KEEP_MS = 24 * 60 * 60_000;
const LARGEST_BYTES = 128 * 1024;
const PRUNE_EVERY_MS = 60_000;

/** The tasks, in memory and in one file each. */
export class TaskStore {
  readonly #options: TaskStoreOptions;
  readonly #folder: SyncedFolder;
  /** Records in the order of acceptance. */
  readonly #records = new Map<string, TaskRecord>();
  readonly #byRequest = new Map<string, string>();
  /** The last write of each task, by ID. Writes of one task run one after the other. */
  readonly #writes = new Map<string, Promise<void>>();

  constructor(options: TaskStoreOptions) {
    this.#options = options;
    this.#folder = new SyncedFolder(options.directory);
  }

  /** Reads the tasks of an earlier worker. Rejects with a system error when the directory cannot be read. */
  async open(): Promise<void> {
    const { directory } = this.#options;
    await makeFolder(directory, 0o700);
    const found: TaskRecord[] = [];
    for (const name of await readdir(directory)) {
      const path = join(directory, name);
      if (name.endsWith(PART)) await rm(path, { recursive: true, force: true });
      else if (name.endsWith(ENDING)) found.push(...(await this.#read(path)));
    }
    found.sort((one, other) => one.acceptedAt.localeCompare(other.acceptedAt));
    for (const record of found) this.#keep(record);
    await this.#prune();
  }

  find(id: string): TaskRecord | undefined {
    return this.#records.get(id);
  }

  /** The task of the request with this key. */
  ofRequest(requestKey: string): TaskRecord | undefined {
    const id = this.#byRequest.get(requestKey);
    return id === undefined ? undefined : this.#records.get(id);
  }

  /** The unfinished tasks, the oldest first. */
  pending(): readonly TaskRecord[] {
    return [...this.#records.values()].filter(({ end }) => end === undefined);
  }

  /** Stores a record in memory at once. Resolves when it is on disk; rejects with a system error. */
  put(record: TaskRecord): Promise<void> {
    this.#keep(record);
    const { id } = record;
    const write = () => this.#write(id);
    const written = (this.#writes.get(id) ?? Promise.resolve()).then(write, write);
    this.#writes.set(id, written);
    const forget = () => {
      if (this.#writes.get(id) === written) this.#writes.delete(id);
    };
    written.then(forget, forget);
    return written;
  }

  /** Resolves when the last change of a record is on disk; rejects if it could not be written. */
  async written(id: string): Promise<void> {
    await this.#writes.get(id);
  }

  async remove(id: string): Promise<void> {
    const record = this.#records.get(id);
    this.#records.delete(id);
    const key = record?.requestKey;
    if (key !== undefined && this.#byRequest.get(key) === id) this.#byRequest.delete(key);
    await rm(this.#path(id), { force: true });
  }

  /** Forgets old tasks until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#options.clock.sleep(PRUNE_EVERY_MS, signal).catch(() => undefined);
      await this.#prune();
    }
    await Promise.allSettled(this.#writes.values());
  }

  /** Stores a record only in memory, until the next `put`. */
  keep(record: TaskRecord): void {
    this.#keep(record);
  }

  #keep(record: TaskRecord): void {
    const isNew = !this.#records.has(record.id);
    this.#records.set(record.id, record);
    // A change of an earlier task must not hide a later one with the same key.
    if (isNew && record.requestKey !== undefined) this.#byRequest.set(record.requestKey, record.id);
  }

  async #write(id: string): Promise<void> {
    const record = this.#records.get(id);
    if (record) await replaceTextFile(this.#path(id), `${JSON.stringify(record)}\n`, this.#folder);
  }

  async #read(path: string): Promise<readonly TaskRecord[]> {
    try {
      if ((await stat(path)).size > LARGEST_BYTES) throw new Error("is too large");
      const record = TaskRecord.parse(JSON.parse(await readFile(path, "utf8")));
      if (this.#path(record.id) !== path) throw new Error("holds another task");
      return [record];
    } catch (thrown) {
      this.#options.log.warn(
        { file: path, error: textOf(thrown) },
        "PBnJ task record damaged, task forgotten",
      );
      await rm(path, { recursive: true, force: true }).catch(() => undefined);
      return [];
    }
  }

  async #prune(): Promise<void> {
    const { clock, log } = this.#options;
    const ended = [...this.#records.values()].filter(({ end }) => end !== undefined);
    const surplus = Math.max(0, ended.length - MOST_ENDED);
    const isOld = ({ end }: TaskRecord) => clock.now() - Date.parse(end?.at ?? "") > KEEP_MS;
    for (const record of ended.filter((one, index) => index < surplus || isOld(one))) {
      try {
        await this.remove(record.id);
      } catch (thrown) {
        log.debug({ task: record.id, error: textOf(thrown) }, "PBnJ task record not removed");
      }
    }
  }

  #path(id: string): string {
    return join(this.#options.directory, `${id}${ENDING}`);
  }
}
