import { mkdir, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import { PART, replaceTextFile } from "./durable-file.ts";
import { JournalEntry } from "./entry.ts";

/** What running actions needs of a journal. */
export interface ActionJournal {
  find(key: string): JournalEntry | undefined;
  /** Those whose end the server may not know yet. */
  unfinished(): readonly JournalEntry[];
  /** Rejects with a system error, such as that of a full disk; the entry before then stands. */
  write(entry: JournalEntry): Promise<void>;
  remove(key: string): Promise<void>;
}

export interface JournalOptions {
  /** Of the journal alone; made when it is not there. */
  readonly directory: string;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A server's cache is seconds behind; an action that it serves again later is another run of it. */
const REMEMBER_MS = 5 * 60_000;
/** Of the acknowledged ones; those that are open are as many as actions run. */
const MOST_REMEMBERED = 5_000;
const MOST_SET_ASIDE = 100;
const SET_ASIDE = "set-aside";
const ENDING = ".json";

/**
 * What became of each action, one small readable file each, so that a worker that is killed at any step goes
 * on where it was. Entries are in memory, too; only `open` reads.
 */
export class Journal implements ActionJournal {
  readonly #options: JournalOptions;
  readonly #entries = new Map<string, JournalEntry>();

  private constructor(options: JournalOptions) {
    this.#options = options;
  }

  /** Reads what an earlier worker left. What is damaged or foreign is set aside with a warning. */
  static async open(options: JournalOptions): Promise<Journal> {
    const journal = new Journal(options);
    await mkdir(join(options.directory, SET_ASIDE), { recursive: true, mode: 0o700 });
    for (const name of (await readdir(options.directory)).toSorted()) {
      if (name.endsWith(PART)) await rm(join(options.directory, name), { force: true });
      else if (name !== SET_ASIDE) await journal.#take(name);
    }
    await journal.#prune();
    return journal;
  }

  find(key: string): JournalEntry | undefined {
    const entry = this.#entries.get(key);
    return entry && this.#isStale(entry) ? undefined : entry;
  }

  unfinished(): readonly JournalEntry[] {
    return [...this.#entries.values()].filter(({ phase }) => phase !== "acknowledged");
  }

  acknowledged(): readonly JournalEntry[] {
    return [...this.#entries.values()].filter(({ phase }) => phase === "acknowledged");
  }

  /**
   * Writes an entry in place of the one with its key. What is to be launched and what has ended survives a loss
   * of power as well. Rejects with a system error, such as that of a full disk; the entry before then stands.
   */
  async write(entry: JournalEntry): Promise<void> {
    const durable = entry.phase === "launching" || entry.phase === "ended";
    await replaceTextFile(this.#path(entry.key), `${JSON.stringify(entry, undefined, 2)}\n`, durable);
    // The newest is last, which is the order in which they are forgotten.
    this.#entries.delete(entry.key);
    this.#entries.set(entry.key, entry);
    if (entry.phase === "acknowledged") await this.#prune();
  }

  async remove(key: string): Promise<void> {
    this.#entries.delete(key);
    await rm(this.#path(key), { force: true });
  }

  async #take(name: string): Promise<void> {
    const path = join(this.#options.directory, name);
    const read = await readEntry(path, name);
    if (read.ok) this.#entries.set(read.entry.key, read.entry);
    else await this.#setAside(name, read.problem);
  }

  async #setAside(name: string, problem: string): Promise<void> {
    const { directory, clock, log } = this.#options;
    const folder = join(directory, SET_ASIDE);
    const stamp = new Date(clock.now()).toISOString().replaceAll(":", "");
    log.warn({ file: name, problem }, "journal entry set aside, the worker goes on without it");
    await rename(join(directory, name), join(folder, `${stamp}-${name}`));
    const kept = (await readdir(folder)).toSorted();
    for (const old of kept.slice(0, Math.max(0, kept.length - MOST_SET_ASIDE))) {
      await rm(join(folder, old), { recursive: true, force: true });
    }
  }

  async #prune(): Promise<void> {
    const remembered = this.acknowledged();
    const surplus = remembered.slice(0, Math.max(0, remembered.length - MOST_REMEMBERED));
    const forgotten = new Set([...surplus, ...remembered.filter((entry) => this.#isStale(entry))]);
    for (const { key } of forgotten) await this.remove(key);
  }

  #isStale(entry: JournalEntry): boolean {
    if (entry.phase !== "acknowledged") return false;
    const ageMs = this.#options.clock.now() - Date.parse(entry.acknowledgedAt);
    // A clock that was set back leaves entries in the future: they are as old as they could be.
    return ageMs < 0 || ageMs > REMEMBER_MS;
  }

  #path(key: string): string {
    return join(this.#options.directory, `${key}${ENDING}`);
  }
}

type ReadEntry =
  | { readonly ok: true; readonly entry: JournalEntry }
  | { readonly ok: false; readonly problem: string };

async function readEntry(path: string, name: string): Promise<ReadEntry> {
  let value: unknown;
  try {
    value = JSON.parse(await readFile(path, "utf8"));
  } catch (thrown) {
    const unread = thrown instanceof Error && "code" in thrown;
    return { ok: false, problem: unread ? `cannot be read (${String(thrown.code)})` : "is not JSON" };
  }
  const parsed = JournalEntry.safeParse(value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return { ok: false, problem: `${issue?.path.join(".") || "it"}: ${issue?.message}` };
  }
  if (name !== `${parsed.data.key}${ENDING}`) return { ok: false, problem: "holds another action's key" };
  return { ok: true, entry: parsed.data };
}
