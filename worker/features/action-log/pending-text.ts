/** Limits the buffered text of all files together. */
export class BufferLimit {
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get isFull(): boolean {
    return this.#bytes > this.#maxBytes;
  }

  /** Counts buffered bytes; negative when text was written or dropped. */
  add(bytes: number): void {
    this.#bytes += bytes;
  }
}

/** The text to write next, and how many lines were dropped before it. */
export interface TakenText {
  readonly text: string;
  readonly lines: number;
  readonly lost: number;
}

/** The buffered lines of one file. If there are too many, the oldest are dropped, because the last ones matter most. */
export class PendingText {
  readonly #maxBytes: number;
  readonly #limit: BufferLimit;
  #lines: { readonly text: string; readonly bytes: number }[] = [];
  #bytes = 0;
  #lost = 0;

  constructor(maxBytes: number, limit: BufferLimit) {
    this.#maxBytes = maxBytes;
    this.#limit = limit;
  }

  /** Adds a line. Returns how many lines were dropped for it. */
  push(text: string): number {
    const bytes = Buffer.byteLength(text);
    this.#lines.push({ text, bytes });
    this.#add(bytes);
    const lostBefore = this.#lost;
    while (this.#bytes > this.#maxBytes || (this.#limit.isFull && this.#lines.length > 0)) {
      const oldest = this.#lines.shift();
      if (oldest === undefined) break;
      this.#add(-oldest.bytes);
      this.#lost += 1;
    }
    return this.#lost - lostBefore;
  }

  take(): TakenText {
    const taken = {
      text: this.#lines.map(({ text }) => text).join(""),
      lines: this.#lines.length,
      lost: this.#lost,
    };
    this.#lines = [];
    this.#lost = 0;
    this.#add(-this.#bytes);
    return taken;
  }

  /** Counts lines that were taken but could not be written. */
  lose(lines: number): void {
    this.#lost += lines;
  }

  #add(bytes: number): void {
    this.#bytes += bytes;
    this.#limit.add(bytes);
  }
}
