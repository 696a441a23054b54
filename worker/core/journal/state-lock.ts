import { type FileHandle, open, stat } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Clock } from "../../../shared/clock.ts";

export class LockTaken extends Error {
  override readonly name = "LockTaken";
}

/** How often a running worker checks whether its lock file was deleted. */
export const CHECK_INTERVAL_MS = 1_000;
/** Within this time, every running worker has noticed the deletion and locked a new file. */
const RENEWED_WITHIN_MS = 3 * CHECK_INTERVAL_MS;
const POLL_MS = 100;
/** How long a check is valid, so that launches that begin together share one. */
const FRESH_MS = 100;

interface Held {
  readonly database: DatabaseSync;
  /** The locked file, even if its name was deleted. Stays open, because closing it would release the lock (fcntl(2)). */
  readonly file: FileHandle;
}

/**
 * The lock of a state directory. It uses SQLite because Node has no `flock`: SQLite's exclusive lock is an operating system
 * lock (fcntl), which a crash releases and which works between containers that share the directory. If the lock file is
 * deleted, the worker locks a new one; a second worker that starts meanwhile waits for that.
 */
export class StateLock {
  readonly #path: string;
  readonly #clock: Clock;
  readonly #held: Held[] = [];
  #verifiedMs = Number.NEGATIVE_INFINITY;
  #verifying: Promise<"held" | "renewed"> | undefined;

  private constructor(path: string, clock: Clock) {
    this.#path = path;
    this.#clock = clock;
  }

  /** Acquires the lock. If the directory was used before, waits a while for a missing lock file. Rejects with `LockTaken` or a system error. */
  static async acquire(directory: string, wasUsed: boolean, clock: Clock): Promise<StateLock> {
    const lock = new StateLock(join(directory, "lock"), clock);
    if (wasUsed) await lock.#awaitFile();
    await lock.#lock();
    return lock;
  }

  /**
   * Checks that the lock file is still the locked one; if not, locks the new file. Rejects with `LockTaken` if another worker was
   * faster, or with a system error.
   */
  async verify(): Promise<"held" | "renewed"> {
    if (this.#clock.monotonicMs() - this.#verifiedMs < FRESH_MS) return "held";
    this.#verifying ??= this.#verify().finally(() => {
      this.#verifying = undefined;
    });
    return this.#verifying;
  }

  async release(): Promise<void> {
    for (const { database, file } of this.#held.splice(0)) {
      database.close();
      await file.close();
    }
  }

  async #verify(): Promise<"held" | "renewed"> {
    const startedMs = this.#clock.monotonicMs();
    const isInPlace = await this.#isInPlace();
    if (!isInPlace) await this.#lock();
    this.#verifiedMs = startedMs;
    return isInPlace ? "held" : "renewed";
  }

  async #isInPlace(): Promise<boolean> {
    const held = this.#held.at(-1);
    if (!held) return true; // Released meanwhile.
    const own = await held.file.stat({ bigint: true });
    const found = await statOf(this.#path);
    return own.ino === found?.ino && own.dev === found.dev;
  }

  async #lock(): Promise<void> {
    let database: DatabaseSync | undefined;
    try {
      database = new DatabaseSync(this.#path, { timeout: 0 });
      database.exec("PRAGMA journal_mode = MEMORY; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE");
      // Only after locking: closing another descriptor of the file would release the lock.
      this.#held.push({ database, file: await open(this.#path, "r") });
    } catch (thrown) {
      database?.close();
      const isTaken = thrown instanceof Error && /database is locked/.test(thrown.message);
      throw isTaken ? new LockTaken("another worker has the lock", { cause: thrown }) : thrown;
    }
  }

  async #awaitFile(): Promise<void> {
    const clock = this.#clock;
    const untilMs = clock.monotonicMs() + RENEWED_WITHIN_MS;
    while (!(await statOf(this.#path)) && clock.monotonicMs() < untilMs) await clock.sleep(POLL_MS);
  }
}

async function statOf(path: string): Promise<{ readonly ino: bigint; readonly dev: bigint } | undefined> {
  try {
    return await stat(path, { bigint: true });
  } catch (thrown) {
    if (thrown instanceof Error && "code" in thrown && thrown.code === "ENOENT") return undefined;
    throw thrown;
  }
}
