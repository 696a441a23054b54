import { StringDecoder } from "node:string_decoder";

/**
 * Cuts a byte stream into lines, whatever way the bytes arrive: a character or a line end split between two
 * chunks is put together again. A line longer than `longest` characters loses its rest, and says so.
 */
export class LineSplitter {
  readonly #decoder = new StringDecoder("utf8");
  readonly #longest: number;
  readonly #onLine: (line: string) => void;
  #pending = "";
  #dropped = 0;

  constructor(longest: number, onLine: (line: string) => void) {
    this.#longest = longest;
    this.#onLine = onLine;
  }

  push(chunk: Uint8Array): void {
    this.#take(this.#decoder.write(chunk));
  }

  /** Gives out what stands after the last line end, if anything. */
  end(): void {
    this.#take(this.#decoder.end());
    if (this.#pending !== "" || this.#dropped > 0) this.#finishLine();
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
    const kept = text.slice(0, this.#longest - this.#pending.length);
    this.#pending += kept;
    this.#dropped += text.length - kept.length;
  }

  #finishLine(): void {
    const cut = this.#dropped > 0 ? `… [${this.#dropped} characters cut]` : "";
    const line = this.#pending.endsWith("\r") ? this.#pending.slice(0, -1) : this.#pending;
    this.#pending = "";
    this.#dropped = 0;
    this.#onLine(line + cut);
  }
}
