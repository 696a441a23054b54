import { StringDecoder } from "node:string_decoder";

/** The maximum length of a line in characters, by its first character. */
export type LongestLine = (first: string) => number;

/**
 * Splits a byte stream into lines, however the bytes arrive: a character or line end that is split between two chunks is
 * joined again. A line that is too long is cut; `onLine` receives the number of dropped characters.
 */
export class LineSplitter {
  readonly #decoder = new StringDecoder("utf8");
  readonly #longest: LongestLine;
  readonly #onLine: (line: string, lost: number) => void;
  #pending = "";
  /** The maximum length of the pending line. Reading its first character each time would copy all of it. */
  #limit = 0;
  #lost = 0;

  constructor(longest: number | LongestLine, onLine: (line: string, lost: number) => void) {
    this.#longest = typeof longest === "number" ? () => longest : longest;
    this.#onLine = onLine;
  }

  /** Number of characters dropped from the unfinished line so far. */
  get lost(): number {
    return this.#lost;
  }

  push(chunk: Uint8Array): void {
    this.#take(this.#decoder.write(chunk));
  }

  /** Emits the text after the last line end, if any. */
  end(): void {
    this.#take(this.#decoder.end());
    if (this.#pending !== "" || this.#lost > 0) this.#finishLine();
  }

  #take(text: string): void {
    let from = 0;
    for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", from)) {
      this.#append(text.slice(from, end));
      this.#finishLine();
      from = end + 1;
    }
    this.#append(text.slice(from));
  }

  #append(text: string): void {
    if (text === "") return;
    if (this.#pending === "") this.#limit = this.#longest(text.charAt(0));
    const kept = text.slice(0, Math.max(0, this.#limit - this.#pending.length));
    this.#pending += kept;
    this.#lost += text.length - kept.length;
  }

  #finishLine(): void {
    const line = this.#pending.endsWith("\r") ? this.#pending.slice(0, -1) : this.#pending;
    const lost = this.#lost;
    this.#pending = "";
    this.#lost = 0;
    this.#onLine(line, lost);
  }
}

/** The mark at the end of a line that lost `lost` characters. */
export function cutMark(lost: number): string {
  return lost > 0 ? `… [${lost} characters cut]` : "";
}
