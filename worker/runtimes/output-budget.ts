import { setImmediate, setTimeout as sleep } from "node:timers/promises";

/** The limits of one action's output. The rest is counted and dropped. */
const LINES = { perSecond: 200, atOnce: 2_000, inTotal: 100_000 };
const BYTES = { perSecond: 64 * 1024, atOnce: 512 * 1024, inTotal: 16 * 1024 * 1024 };
/** After drops, lines are taken again only once this part of the burst size is available. */
const RESUME_PART = 0.25;
/** How often to check for room, in dropped lines. */
const LINES_PER_CHECK = 64;
/** A flood ends when nothing was dropped for this long, because some lines are taken between drops. */
const FLOOD_MS = 10_000;

/** The first bytes are read immediately, because a result may be that long. After that, the container's writes block. */
const READ = { perSecond: 1024 * 1024, atOnce: 4 * 1024 * 1024 };
const BYTES_PER_TURN = 512;
const LONGEST_PAUSE_MS = 100;

class Allowance {
  readonly #perMs: number;
  readonly #most: number;
  readonly #nowMs: () => number;
  #left: number;
  #atMs: number;

  constructor(limits: { readonly perSecond: number; readonly atOnce: number }, nowMs: () => number) {
    this.#perMs = limits.perSecond / 1_000;
    this.#most = limits.atOnce;
    this.#left = limits.atOnce;
    this.#nowMs = nowMs;
    this.#atMs = nowMs();
  }

  get part(): number {
    const now = this.#nowMs();
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

export class OutputBudget {
  readonly dropped: { lines: number; bytes: number } = { lines: 0, bytes: 0 };
  readonly #nowMs: () => number;
  readonly #lines: Allowance;
  readonly #bytes: Allowance;
  #linesLeft = LINES.inTotal;
  #bytesLeft = BYTES.inTotal;
  #isOver = false;
  #droppedMs = Number.NEGATIVE_INFINITY;

  constructor(nowMs = monotonicMs) {
    this.#nowMs = nowMs;
    this.#lines = new Allowance(LINES, nowMs);
    this.#bytes = new Allowance(BYTES, nowMs);
  }

  get isFlooding(): boolean {
    return this.#nowMs() - this.#droppedMs < FLOOD_MS;
  }

  /** Takes a line if there is room. `lost` is the number of characters that the line has already lost. */
  take(line: string, lost = 0): boolean {
    const bytes = bytesOf(line);
    this.#isOver = !this.#hasRoom(bytes);
    if (this.#isOver) {
      this.#droppedMs = this.#nowMs();
      this.dropped.lines += 1;
      this.dropped.bytes += bytes;
      return false;
    }
    this.#lines.spend(1);
    this.#bytes.spend(bytes + Math.min(lost, BYTES.atOnce));
    this.#linesLeft -= 1;
    this.#bytesLeft -= bytes;
    return true;
  }

  /** Call this for dropped lines that are kept after all. */
  restore(lines: readonly string[]): void {
    for (const line of lines) {
      this.dropped.lines -= 1;
      this.dropped.bytes -= bytesOf(line);
    }
  }

  #hasRoom(bytes: number): boolean {
    if (this.#linesLeft <= 0 || this.#bytesLeft < bytes) return false;
    if (this.#isOver && this.dropped.lines % LINES_PER_CHECK !== 0) return false;
    const least = this.#isOver ? RESUME_PART : 0;
    return this.#lines.part > least && this.#bytes.part > least;
  }
}

function monotonicMs(): number {
  return performance.now();
}

/** The number of bytes of a line with its line end. */
function bytesOf(line: string): number {
  return Buffer.byteLength(line) + 1;
}

/** Limits how fast one action's output is read. A faster action blocks on its pipe. */
export class ReadThrottle {
  readonly #allowance = new Allowance(READ, monotonicMs);
  #skipsPauses = false;

  /** Passes on a chunk in parts, one per turn of the event loop. Resolves when the next chunk may be read. */
  async read(chunk: Uint8Array, push: (part: Uint8Array) => void): Promise<void> {
    this.#allowance.spend(chunk.length);
    for (let from = 0; from < chunk.length; from += BYTES_PER_TURN) {
      push(chunk.subarray(from, from + BYTES_PER_TURN));
      await setImmediate();
    }
    const pauseMs = this.#skipsPauses ? 0 : Math.min(this.#allowance.owedMs, LONGEST_PAUSE_MS);
    if (pauseMs >= 1) await sleep(pauseMs);
  }

  /** Reads the rest without pauses, because the action is ending. */
  skipPauses(): void {
    this.#skipsPauses = true;
  }
}
