import { link, readdir, rename, rm, unlink } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../../shared/clock.ts";
import type { Logger } from "../../../shared/logger.ts";
import { makeFolder } from "../../../shared/make-folder.ts";
import { textOf } from "../../../shared/text-of.ts";
import { appendText, overwriteTextFile, PART, replaceTextFile, SyncedFolder } from "./durable-file.ts";
import type { EntryKind, EntryStore, Remembered, StorageRule, Stored } from "./entry-kind.ts";
import { ENTRY_ENDING, encodeEntry, keyOfName, LARGEST_ENTRY_BYTES, readEntry } from "./entry-text.ts";

/** A step of the journal, for observers. */
export interface JournalSeen {
  readonly step: "write" | "remove";
  readonly ok: boolean;
  readonly durationMs: number;
}

export interface JournalOptions<Entry> {
  /** A directory that only the journal uses. Created if it is missing. */
  readonly directory: string;
  readonly kind: EntryKind<Entry>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly observer?: { journal(seen: JournalSeen): void };
  /** Called before a guarded entry is written. Rejects if another worker may own the directory. */
  readonly verify?: () => Promise<void>;
}

const READ_AT_ONCE = 64;
const MOST_SET_ASIDE = 100;
const SET_ASIDE = "set-aside";
/** The most damaged entries to log, so that a damaged disk does not flood the log. */
const MOST_WARNED = 20;

interface Kept<Entry> {
  readonly entry: Entry;
  readonly remembered: Remembered | undefined;
  /** When the entry was written, by the monotonic clock, so that setting the wall clock does not affect how long it is kept. */
  readonly writtenMs: number;
}

/** A file that this worker created, so that it can append to it. */
interface Appendable {
  /** The length in bytes. */
  readonly length: number;
  /** Whether the file's name survives a power loss. */
  readonly isNameSynced: boolean;
}

/**
 * Stores one small file per key with a line for each step, so that the next worker can continue after a crash at any step. The
 * last line counts. Entries are also in memory; only `open` reads files.
 */
export class Journal<Entry extends Stored> implements EntryStore<Entry> {
  readonly #options: JournalOptions<Entry>;
  readonly #folder: SyncedFolder;
  /** The entries by group and key, in the order of writing. Unfinished entries have no group. */
  readonly #groups = new Map<string | undefined, Map<string, Kept<Entry>>>();
  /** The files that can be appended to, by key. */
  readonly #appendable = new Map<string, Appendable>();
  /** The problems of damaged entries, by key. */
  readonly #damaged = new Map<string, string>();
  /** The last step of each key. Steps of a key run one at a time, so that none removes what another has just written. */
  readonly #steps = new Map<string, Promise<void>>();
  #pruning: Promise<void> | undefined;

  private constructor(options: JournalOptions<Entry>) {
    this.#options = options;
    this.#folder = new SyncedFolder(options.directory);
  }

  /**
   * Reads the files of an earlier worker. Leaves damaged entries in place, and moves files with foreign names to another folder.
   * Does not remove expired entries, which `prune` does. Rejects with a system error if the directory cannot be read.
   */
  static async open<Entry extends Stored>(options: JournalOptions<Entry>): Promise<Journal<Entry>> {
    const { directory, kind } = options;
    const journal = new Journal(options);
    await makeFolder(join(directory, SET_ASIDE), 0o700);
    const found: Entry[] = [];
    const doubts = new Map<string, string>();
    const names: string[] = [];
    for (const name of (await readdir(directory)).toSorted()) {
      if (name === SET_ASIDE) continue;
      if (name.endsWith(`${ENTRY_ENDING}${PART}`)) {
        await rm(join(directory, name), { recursive: true, force: true });
      } else if (keyOfName(name) === undefined) await journal.#setAside(name);
      else names.push(name);
    }
    for await (const [name, read] of readEntries(directory, names, kind)) {
      const key = keyOfName(name) ?? "";
      if (read.ok && read.entry.key === key) {
        found.push(read.entry);
        if (read.doubt !== undefined) doubts.set(key, read.doubt);
      } else if (!read.ok) journal.#damaged.set(key, read.problem);
      else {
        journal.#damaged.set(key, "holds another action's entry");
        journal.#damaged.set(read.entry.key, "is in the file of another action");
      }
    }
    // A sound entry takes precedence over a misplaced one of the same key.
    for (const { key } of found) journal.#damaged.delete(key);
    for (const [key, doubt] of doubts) journal.#damaged.set(key, doubt);
    journal.#warnOfDamage();
    const nowMs = options.clock.now();
    for (const entry of found.toSorted((one, other) => kind.writtenAt(one) - kind.writtenAt(other))) {
      // The age by the wall clock, or 0 for an entry from the future, which exists if the clock was set back.
      journal.#keep(entry, Math.max(0, nowMs - kind.writtenAt(entry)));
    }
    return journal;
  }

  find(key: string): Entry | undefined {
    const kept = this.#kept(key);
    return kept && this.#isStale(kept) ? undefined : kept?.entry;
  }

  ageMs(key: string): number {
    const kept = this.#kept(key);
    return kept ? this.#options.clock.monotonicMs() - kept.writtenMs : 0;
  }

  unfinished(): readonly Entry[] {
    return [...(this.#groups.get(undefined)?.values() ?? [])].map(({ entry }) => entry);
  }

  damageOf(key: string): string | undefined {
    return this.#damaged.get(key);
  }

  /** An entry that must be kept stays in memory even if this rejects. */
  async write(entry: Entry): Promise<void> {
    await this.#inOrder(entry.key, () => this.#seen("write", () => this.#write(entry)));
    if (this.#ruleOf(entry).remembered) await this.prune();
  }

  async #write(entry: Entry): Promise<void> {
    const { isGuarded, mustBeKept, remembered } = this.#ruleOf(entry);
    if (isGuarded) await this.#options.verify?.();
    if (mustBeKept) this.#keep(entry);
    const text = encodeEntry(entry);
    if (Buffer.byteLength(text) > LARGEST_ENTRY_BYTES) {
      throw new Error(`the journal entry of ${entry.key} would be larger than ${LARGEST_ENTRY_BYTES} bytes`);
    }
    try {
      await this.#keepDamaged(entry.key);
      const file = await this.#store(entry, text);
      // A later step after the last entry of a key starts a new file.
      if (!remembered) this.#appendable.set(entry.key, file);
      this.#damaged.delete(entry.key);
    } catch (thrown) {
      const isNew = !this.#kept(entry.key) && !this.#damaged.has(entry.key);
      // The write failed, but the file may exist if only the sync of its folder failed.
      if (isNew) await this.#removeFile(entry.key).catch(() => undefined);
      if (!remembered) throw thrown;
      // Even a full disk allows removing the file. The entry stays in memory.
      await this.#removeFile(entry.key);
    }
    this.#keep(entry);
  }

  /** Appends to the file. Replaces it if it is damaged, from an earlier worker, too large, or if appending fails. */
  async #store(entry: Entry, text: string): Promise<Appendable> {
    const path = this.#path(entry.key);
    const { isSynced: sync, mustBeKept } = this.#ruleOf(entry);
    const file = this.#appendable.get(entry.key);
    this.#appendable.delete(entry.key);
    const length = (file?.length ?? 0) + Buffer.byteLength(text);
    if (file && length <= LARGEST_ENTRY_BYTES) {
      try {
        await appendText(path, text, { length: file.length, sync });
        if (sync && !file.isNameSynced) await this.#folder.sync();
        return { length, isNameSynced: sync || file.isNameSynced };
      } catch {
        // Replacing the file below reports a better error.
      }
    }
    // The replaced entry may be synced, so the new one must be too: a power loss must not lose both.
    const isSynced = sync || mustBeKept;
    const folder = isSynced ? this.#folder : undefined;
    await replaceTextFile(path, text, folder).catch((thrown: unknown) => {
      if (!mustBeKept || this.#damaged.has(entry.key)) throw thrown;
      return overwriteTextFile(path, text, folder).catch(() => Promise.reject(thrown));
    });
    return { length: Buffer.byteLength(text), isNameSynced: isSynced };
  }

  async remove(key: string): Promise<void> {
    await this.#inOrder(key, () => this.#remove(key));
  }

  async #remove(key: string): Promise<void> {
    this.#forget(key);
    await this.#seen("remove", () => this.#removeFile(key));
  }

  async #removeFile(key: string): Promise<void> {
    this.#appendable.delete(key);
    const path = this.#path(key);
    if (this.#damaged.has(key)) {
      // Keep it for diagnosis. It may be a folder, which `unlink` cannot remove.
      await rename(path, this.#asidePath(`${key}${ENTRY_ENDING}`)).catch(ignoreMissing);
      this.#damaged.delete(key);
      await thinOut(join(this.#options.directory, SET_ASIDE)).catch(() => undefined);
    } else await unlink(path).catch(ignoreMissing);
  }

  /** Links a damaged file under a second name before an entry replaces it. */
  async #keepDamaged(key: string): Promise<void> {
    if (!this.#damaged.has(key)) return;
    try {
      await link(this.#path(key), this.#asidePath(`${key}${ENTRY_ENDING}`));
      await thinOut(join(this.#options.directory, SET_ASIDE));
    } catch {
      // Continue without the copy, because the new entry is more important.
    }
  }

  /** Runs the steps of one key one after the other. */
  #inOrder<T>(key: string, step: () => Promise<T>): Promise<T> {
    const taken = (this.#steps.get(key) ?? Promise.resolve()).then(step);
    const end = () => {
      if (this.#steps.get(key) === ended) this.#steps.delete(key);
    };
    const ended = taken.then(end, end);
    this.#steps.set(key, ended);
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

  #ruleOf(entry: Entry): StorageRule {
    return this.#options.kind.ruleOf(entry);
  }

  #keep(entry: Entry, agoMs = 0): void {
    this.#forget(entry.key);
    const { remembered } = this.#ruleOf(entry);
    const group = this.#groups.get(remembered?.group) ?? new Map<string, Kept<Entry>>();
    this.#groups.set(remembered?.group, group);
    const writtenMs = this.#options.clock.monotonicMs() - agoMs;
    group.set(entry.key, { entry, remembered, writtenMs });
  }

  #forget(key: string): void {
    for (const group of this.#groups.values()) group.delete(key);
  }

  #kept(key: string): Kept<Entry> | undefined {
    for (const group of this.#groups.values()) {
      const kept = group.get(key);
      if (kept) return kept;
    }
    return undefined;
  }

  /** Moves a foreign file out of the journal. Only logs a failure, such as on a read-only file system. */
  async #setAside(name: string): Promise<void> {
    const { directory, log } = this.#options;
    log.warn({ file: join(directory, name) }, "foreign file moved out of the journal");
    try {
      await rename(join(directory, name), this.#asidePath(name));
      await thinOut(join(directory, SET_ASIDE));
    } catch (thrown) {
      log.debug({ file: name, error: textOf(thrown) }, "foreign file could not be moved");
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

  /** Forgets expired and surplus entries. Concurrent calls share one run. Never rejects. */
  prune(): Promise<void> {
    this.#pruning ??= this.#forgetOldest().finally(() => {
      this.#pruning = undefined;
    });
    return this.#pruning;
  }

  async #forgetOldest(): Promise<void> {
    for (const { key, kept } of [...this.#groups.values()].flatMap((group) => this.#surplus(group))) {
      // The entry may have been written again meanwhile.
      const isSame = () => this.#kept(key) === kept;
      const removed = this.#inOrder(key, async () => (isSame() ? this.#remove(key) : undefined));
      // The next start finds and removes the file.
      await removed.catch(() => undefined);
    }
  }

  /** The expired and surplus entries of a group. */
  #surplus(group: ReadonlyMap<string, Kept<Entry>>) {
    const surplus: { readonly key: string; readonly kept: Kept<Entry> }[] = [];
    // The oldest come first, so all entries after one that stays also stay.
    for (const [key, kept] of group) {
      const isOneOfTheNewest = group.size - surplus.length <= (kept.remembered?.most ?? group.size);
      if (isOneOfTheNewest && !this.#isStale(kept)) break;
      surplus.push({ key, kept });
    }
    return surplus;
  }

  #isStale({ remembered, writtenMs }: Kept<Entry>): boolean {
    return remembered !== undefined && this.#options.clock.monotonicMs() - writtenMs > remembered.ms;
  }

  #path(key: string): string {
    return join(this.#options.directory, `${key}${ENTRY_ENDING}`);
  }
}

/** Reads entries in the order of their names, a few at a time. */
async function* readEntries<Entry extends Stored>(
  directory: string,
  names: readonly string[],
  kind: EntryKind<Entry>,
) {
  for (let at = 0; at < names.length; at += READ_AT_ONCE) {
    const some = names.slice(at, at + READ_AT_ONCE);
    yield* await Promise.all(
      some.map(async (name) => [name, await readEntry(directory, name, kind)] as const),
    );
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
