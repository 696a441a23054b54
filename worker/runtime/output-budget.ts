import { setImmediate, setTimeout as sleep } from "node:timers/promises";

export interface DroppedOutput {
  readonly lines: number;
  readonly bytes: number;
}

/** The limits of one action's output. More is counted and dropped. */
const LINES = { perSecond: 200, atOnce: 2_000, inTotal: 100_000 };
const BYTES = { perSecond: 64 * 1024, atOnce: 512 * 1024, inTotal: 16 * 1024 * 1024 };
/** After drops, lines are taken again only once this part of the burst size is available. */
const ROOM_AGAIN = 0.25;
/** How often to check for room, in dropped lines. */
const LINES_PER_LOOK = 64;

/** The first bytes are read at once, because a result may be as long; then the container's writes block. */
const READ = { perSecond: 1024 * 1024, atOnce: 4 * 1024 * 1024 };
/** Bytes per turn of the event loop. */
const BYTES_PER_TURN = 512;
const LONGEST_PAUSE_MS = 100;

/** A token bucket. */
class Allowance {
  readonly #perMs: number;
  readonly #most: number;
  #left: number;
  #atMs = performance.now();

  constructor({ perSecond, atOnce }: { readonly perSecond: number; readonly atOnce: number }) {
    this.#perMs = perSecond / 1_000;
    this.#most = atOnce;
    this.#left = atOnce;
  }

  /** The available part of the maximum; negative if overspent. */
  get part(): number {
    const now = performance.now();
    this.#left = Math.min(this.#most, this.#left + (now - this.#atMs) * this.#perMs);
    this.#atMs = now;
    return this.#left / this.#most;
  }

  get owedMs(): number {
    return Math.max(0, (-this.part * this.#most) / this.#perMs);
  }

  spend(amount: number): void {
    this.#left -= amount;
  }
}

/** Limits the lines of one action's output, per second and in total. */
export class OutputBudget {
  readonly dropped: { lines: number; bytes: number } = { lines: 0, bytes: 0 };
  readonly #lines = new Allowance(LINES);
  readonly #bytes = new Allowance(BYTES);
  #linesLeft = LINES.inTotal;
  #bytesLeft = BYTES.inTotal;
  #isOver = false;

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Returns whether the line may pass. */
  take(line: string): boolean {
    const bytes = bytesOf(line);
    this.#isOver = !this.#hasRoom(bytes);
    if (this.#isOver) {
      this.dropped.lines += 1;
      this.dropped.bytes += bytes;
      return false;
    }
    this.#lines.spend(1);
    this.#bytes.spend(bytes);
    this.#linesLeft -= 1;
    this.#bytesLeft -= bytes;
    return true;
  }

  /** Call for dropped lines that are kept after all. */
  restore(lines: readonly string[]): void {
    for (const line of lines) {
      this.dropped.lines -= 1;
      this.dropped.bytes -= bytesOf(line);
    }
  }

  #hasRoom(bytes: number): boolean {
    if (this.#linesLeft <= 0 || this.#bytesLeft < bytes) return false;
    if (this.#isOver && this.dropped.lines % LINES_PER_LOOK !== 0) return false;
    const least = this.#isOver ? ROOM_AGAIN : 0;
    return this.#lines.part > least && this.#bytes.part > least;
  }
}

/** Including its line end. */
function bytesOf(line: string): number {
  return Buffer.byteLength(line) + 1;
}

/** Limits how fast one action's output is read. A faster action blocks on its pipe. */
export class ReadingPace {
  readonly #allowance = new Allowance(READ);
  #isHurried = false;

  /** Passes on a chunk, a part per turn of the event loop. Resolves when the next chunk may be read. */
  async read(chunk: Uint8Array, push: (part: Uint8Array) => void): Promise<void> {
    this.#allowance.spend(chunk.length);
    for (let from = 0; from < chunk.length; from += BYTES_PER_TURN) {
      push(chunk.subarray(from, from + BYTES_PER_TURN));
      await setImmediate();
    }
    const pauseMs = this.#isHurried ? 0 : Math.min(this.#allowance.owedMs, LONGEST_PAUSE_MS);
    if (pauseMs >= 1) await sleep(pauseMs);
  }

  /** The action is ending: read the rest without pauses. */
  hurry(): void {
    this.#isHurried = true;
  }
}
