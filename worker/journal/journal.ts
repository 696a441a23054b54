import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import type { JournalSeen, Observer } from "../observer.ts";
import { PART, replaceTextFile } from "./durable-file.ts";
import { type JournalEntry, mustLast } from "./entry.ts";
import { ENTRY_ENDING, LARGEST_ENTRY_BYTES, readEntry } from "./read-entry.ts";

/** What running actions needs of a journal. */
export interface ActionJournal {
  find(key: string): JournalEntry | undefined;
  /** How long ago that entry was written, by a clock that nobody sets; 0 when there is none. */
  ageMs(key: string): number;
  /** Those whose end the server may not know yet, the oldest first. */
  unfinished(): readonly JournalEntry[];
  /**
   * Rejects with a system error, such as that of a full disk; the file before then stands. What has happened (an
   * end, its acknowledgement) is known all the same for as long as this process lives.
   */
  write(entry: JournalEntry): Promise<void>;
  remove(key: string): Promise<void>;
}

export interface JournalOptions {
  /** Of the journal alone; made when it is not there. */
  readonly directory: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly observer?: Pick<Observer, "journal">;
}

/** A server's cache is seconds behind; an action that it serves again later is another run of it. */
const REMEMBER_MS = 5 * 60_000;
/** Of the acknowledged ones; those that are open are as many as actions run. */
const MOST_REMEMBERED = 5_000;
const MOST_SET_ASIDE = 100;
const SET_ASIDE = "set-aside";

interface Kept {
  readonly entry: JournalEntry;
  /** On the monotonic clock: a clock that is set must not make the worker forget, nor remember for ever. */
  readonly writtenMs: number;
}

/**
 * What became of each action, one small readable file each, so that a worker that is killed at any step goes
 * on where it was. Entries are in memory, too; only `open` reads.
 */
export class Journal implements ActionJournal {
  readonly #options: JournalOptions;
  /** The one written last is last. */
  readonly #entries = new Map<string, Kept>();

  private constructor(options: JournalOptions) {
    this.#options = options;
  }

  /**
   * Reads what an earlier worker left. What is damaged or foreign is set aside with a warning. Rejects with a system
   * error when the directory cannot be read.
   */
  static async open(options: JournalOptions): Promise<Journal> {
    const { directory } = options;
    const journal = new Journal(options);
    await mkdir(join(directory, SET_ASIDE), { recursive: true, mode: 0o700 });
    const found: JournalEntry[] = [];
    for (const name of (await readdir(directory)).toSorted()) {
      if (name === SET_ASIDE) continue;
      if (name.endsWith(`${ENTRY_ENDING}${PART}`)) {
        await rm(join(directory, name), { recursive: true, force: true });
        continue;
      }
      const read = await readEntry(directory, name);
      if (read.ok) found.push(read.entry);
      else await journal.#setAside(name, read.problem);
    }
    for (const entry of found.toSorted(byAge)) {
      journal.#keep(entry, writtenAgoMs(entry, options.clock));
    }
    await journal.#prune();
    return journal;
  }

  find(key: string): JournalEntry | undefined {
    const kept = this.#entries.get(key);
    return kept && this.#isStale(kept) ? undefined : kept?.entry;
  }

  ageMs(key: string): number {
    const kept = this.#entries.get(key);
    return kept ? this.#options.clock.monotonicMs() - kept.writtenMs : 0;
  }

  unfinished(): readonly JournalEntry[] {
    return [...this.#entries.values()]
      .map(({ entry }) => entry)
      .filter(({ phase }) => phase !== "acknowledged");
  }

  async write(entry: JournalEntry): Promise<void> {
    return this.#seen("write", () => this.#write(entry));
  }

  async #write(entry: JournalEntry): Promise<void> {
    if (entry.phase === "ended" || entry.phase === "acknowledged") this.#keep(entry);
    const text = `${JSON.stringify(entry, undefined, 2)}\n`;
    if (Buffer.byteLength(text) > LARGEST_ENTRY_BYTES) {
      throw new Error(`the journal entry of ${entry.key} would be larger than ${LARGEST_ENTRY_BYTES} bytes`);
    }
    try {
      await replaceTextFile(this.#path(entry.key), text, mustLast(entry));
    } catch (thrown) {
      if (entry.phase !== "acknowledged") throw thrown;
      // A disk that is full takes no file, but lets one go; what is remembered is in memory.
      await rm(this.#path(entry.key), { force: true });
    }
    this.#keep(entry);
    if (entry.phase === "acknowledged") await this.#prune();
  }

  async remove(key: string): Promise<void> {
    this.#entries.delete(key);
    await this.#seen("remove", () => rm(this.#path(key), { force: true }));
  }

  async #seen(step: JournalSeen["step"], work: () => Promise<void>): Promise<void> {
    const { clock, observer } = this.#options;
    const startedMs = clock.monotonicMs();
    let ok = false;
    try {
      await work();
      ok = true;
    } finally {
      observer?.journal({ step, ok, durationMs: clock.monotonicMs() - startedMs });
    }
  }

  #keep(entry: JournalEntry, agoMs = 0): void {
    this.#entries.delete(entry.key);
    this.#entries.set(entry.key, { entry, writtenMs: this.#options.clock.monotonicMs() - agoMs });
  }

  /** What cannot be moved, as on a file system that lost its right to write, stays and is only warned of. */
  async #setAside(name: string, problem: string): Promise<void> {
    const { directory, clock, log } = this.#options;
    const folder = join(directory, SET_ASIDE);
    const stamp = new Date(clock.now()).toISOString().replaceAll(":", "");
    log.warn(
      { file: join(directory, name), problem },
      "journal entry set aside, the worker goes on without it",
    );
    try {
      await rename(join(directory, name), join(folder, `${stamp}-${name}`));
      const kept = (await readdir(folder)).toSorted();
      for (const old of kept.slice(0, Math.max(0, kept.length - MOST_SET_ASIDE))) {
        await rm(join(folder, old), { recursive: true, force: true });
      }
    } catch (thrown) {
      const error = thrown instanceof Error ? thrown.message : String(thrown);
      log.debug({ file: name, error }, "journal entry could not be moved");
    }
  }

  async #prune(): Promise<void> {
    const remembered = [...this.#entries.values()].filter(({ entry }) => entry.phase === "acknowledged");
    const surplus = Math.max(0, remembered.length - MOST_REMEMBERED);
    const forgotten = remembered.filter((kept, index) => index < surplus || this.#isStale(kept));
    // A file that cannot be removed now is found, and old, at the next start.
    for (const { entry } of forgotten) await this.remove(entry.key).catch(() => undefined);
  }

  #isStale({ entry, writtenMs }: Kept): boolean {
    return entry.phase === "acknowledged" && this.#options.clock.monotonicMs() - writtenMs > REMEMBER_MS;
  }

  #path(key: string): string {
    return join(this.#options.directory, `${key}${ENTRY_ENDING}`);
  }
}

function byAge(one: JournalEntry, other: JournalEntry): number {
  return writtenAt(one) - writtenAt(other);
}

/** As the wall clock tells. An entry from the future, where that was set back, is as new as it can be. */
function writtenAgoMs(entry: JournalEntry, clock: Clock): number {
  return Math.max(0, clock.now() - writtenAt(entry));
}

function writtenAt(entry: JournalEntry): number {
  return Date.parse(entry.phase === "acknowledged" ? entry.acknowledgedAt : entry.startedAt);
}
