import { link, mkdir, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import { textOf } from "../../shared/text-of.ts";
import type { JournalSeen, Observer } from "../action/observer.ts";
import { PART, replaceTextFile } from "./durable-file.ts";
import { type JournalEntry, mustLast } from "./entry.ts";
import { encodeEntry } from "./entry-text.ts";
import { ENTRY_ENDING, keyOfName, LARGEST_ENTRY_BYTES, readEntry } from "./read-entry.ts";

/** What running actions needs of a journal. */
export interface ActionJournal {
  find(key: string): JournalEntry | undefined;
  /**
   * What is wrong with the entry of that key, where it cannot be understood: its action may have been launched, and whether
   * it was, or how it ended, is not known. Follows "the entry" in a sentence.
   */
  damageOf(key: string): string | undefined;
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
  /** Asked before a launch goes on record; rejects when the directory may be another worker's. */
  readonly verify?: () => Promise<void>;
}

/** A server's cache is seconds behind; an action that it serves again later is another run of it. */
const REMEMBER_MS = 5 * 60_000;
/** Of the acknowledged ones; those that are open are as many as actions run. */
const MOST_REMEMBERED = 5_000;
const MOST_SET_ASIDE = 100;
const SET_ASIDE = "set-aside";
/** Damage to a whole disk must not fill the log. */
const MOST_WARNED = 20;

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
  /** By key, what is wrong with entries that cannot be understood. */
  readonly #damaged = new Map<string, string>();
  /** By key, the last step under way: one at a time, so that none removes what another has just written. */
  readonly #steps = new Map<string, Promise<void>>();

  private constructor(options: JournalOptions) {
    this.#options = options;
  }

  /**
   * Reads what an earlier worker left. An entry that cannot be understood stays where it is and counts as damaged; a file
   * whose name is not an entry's is set aside. Rejects with a system error when the directory cannot be read.
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
      const key = keyOfName(name);
      if (key === undefined) {
        await journal.#setAside(name);
        continue;
      }
      const read = await readEntry(directory, name);
      if (read.ok && read.entry.key === key) found.push(read.entry);
      else if (!read.ok) journal.#damaged.set(key, read.problem);
      else {
        journal.#damaged.set(key, "holds another action's entry");
        journal.#damaged.set(read.entry.key, "is in the file of another action");
      }
    }
    // The whole entry of a key says more than what another file holds of it.
    for (const { key } of found) journal.#damaged.delete(key);
    journal.#warnOfDamage();
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

  damageOf(key: string): string | undefined {
    return this.#damaged.get(key);
  }

  async write(entry: JournalEntry): Promise<void> {
    await this.#inOrder(entry.key, () => this.#seen("write", () => this.#write(entry)));
    if (entry.phase === "acknowledged") await this.#prune();
  }

  async #write(entry: JournalEntry): Promise<void> {
    if (entry.phase === "launching") await this.#options.verify?.();
    if (entry.phase === "ended" || entry.phase === "acknowledged") this.#keep(entry);
    const text = encodeEntry(entry);
    if (Buffer.byteLength(text) > LARGEST_ENTRY_BYTES) {
      throw new Error(`the journal entry of ${entry.key} would be larger than ${LARGEST_ENTRY_BYTES} bytes`);
    }
    try {
      await this.#keepDamaged(entry.key);
      await replaceTextFile(this.#path(entry.key), text, mustLast(entry));
      this.#damaged.delete(entry.key);
    } catch (thrown) {
      if (entry.phase !== "acknowledged") throw thrown;
      // A disk that is full takes no file, but lets one go; what is remembered is in memory.
      await this.#removeFile(entry.key);
    }
    this.#keep(entry);
  }

  async remove(key: string): Promise<void> {
    await this.#inOrder(key, () => this.#remove(key));
  }

  async #remove(key: string): Promise<void> {
    this.#entries.delete(key);
    await this.#seen("remove", () => this.#removeFile(key));
  }

  async #removeFile(key: string): Promise<void> {
    const path = this.#path(key);
    if (this.#damaged.has(key)) {
      // It may be a folder, and a person may want to look at it.
      await rename(path, this.#asidePath(`${key}${ENTRY_ENDING}`)).catch(ignoreMissing);
      this.#damaged.delete(key);
      await thinOut(join(this.#options.directory, SET_ASIDE)).catch(() => undefined);
    } else await rm(path, { force: true });
  }

  /** Keeps a damaged file under a second name before an entry takes its place. */
  async #keepDamaged(key: string): Promise<void> {
    if (!this.#damaged.has(key)) return;
    try {
      await link(this.#path(key), this.#asidePath(`${key}${ENTRY_ENDING}`));
      await thinOut(join(this.#options.directory, SET_ASIDE));
    } catch {
      // Worth keeping, but no reason to lose the entry.
    }
  }

  /** Takes the steps of one key one after the other. */
  #inOrder<T>(key: string, step: () => Promise<T>): Promise<T> {
    const taken = (this.#steps.get(key) ?? Promise.resolve()).then(step);
    const over = taken.then(
      () => undefined,
      () => undefined,
    );
    this.#steps.set(key, over);
    void over.then(() => {
      if (this.#steps.get(key) === over) this.#steps.delete(key);
    });
    return taken;
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
  async #setAside(name: string): Promise<void> {
    const { directory, log } = this.#options;
    log.warn({ file: join(directory, name) }, "foreign file moved out of the journal");
    try {
      await rename(join(directory, name), this.#asidePath(name));
      await thinOut(join(directory, SET_ASIDE));
    } catch (thrown) {
      const error = textOf(thrown);
      log.debug({ file: name, error }, "foreign file could not be moved");
    }
  }

  #warnOfDamage(): void {
    const { directory, log } = this.#options;
    for (const [key, problem] of [...this.#damaged].slice(0, MOST_WARNED)) {
      const file = join(directory, `${key}${ENTRY_ENDING}`);
      log.warn({ file, problem }, "journal entry damaged: outcome of its action unknown");
    }
    const more = this.#damaged.size - MOST_WARNED;
    if (more > 0) log.warn({ directory, more }, "more journal entries damaged");
  }

  #asidePath(name: string): string {
    const { clock, directory } = this.#options;
    const stamp = new Date(clock.now()).toISOString().replaceAll(":", "");
    return join(directory, SET_ASIDE, `${stamp}-${name}`);
  }

  async #prune(): Promise<void> {
    const remembered = [...this.#entries.values()].filter(({ entry }) => entry.phase === "acknowledged");
    const surplus = Math.max(0, remembered.length - MOST_REMEMBERED);
    const forgotten = remembered.filter((kept, index) => index < surplus || this.#isStale(kept));
    for (const kept of forgotten) {
      const { key } = kept.entry;
      // It may have been written again meanwhile.
      const isSame = () => this.#entries.get(key) === kept;
      const forget = this.#inOrder(key, async () => (isSame() ? this.#remove(key) : undefined));
      // A file that cannot be removed now is found, and old, at the next start.
      await forget.catch(() => undefined);
    }
  }

  #isStale({ entry, writtenMs }: Kept): boolean {
    return entry.phase === "acknowledged" && this.#options.clock.monotonicMs() - writtenMs > REMEMBER_MS;
  }

  #path(key: string): string {
    return join(this.#options.directory, `${key}${ENTRY_ENDING}`);
  }
}

async function thinOut(folder: string): Promise<void> {
  const kept = (await readdir(folder)).toSorted();
  for (const old of kept.slice(0, Math.max(0, kept.length - MOST_SET_ASIDE))) {
    await rm(join(folder, old), { recursive: true, force: true });
  }
}

function ignoreMissing(thrown: unknown): void {
  if (!(thrown instanceof Error && "code" in thrown && thrown.code === "ENOENT")) throw thrown;
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
