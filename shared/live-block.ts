import { fitted, textWidth } from "./table.ts";

const ERASE_TO_END_OF_LINE = "\u001b[K";
const ERASE_TO_END_OF_SCREEN = "\u001b[J";

/** The part of `tty.WriteStream` that is used. */
export interface Terminal {
  readonly columns?: number;
  readonly rows?: number;
  write(text: string): unknown;
}

/** Lines at the end of a terminal that are replaced in place. Call `erase` before anything else is written to it. */
export class LiveBlock {
  readonly #terminal: Terminal;
  #drawn: readonly string[] = [];

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  /** The number of lines that fit. A line that has scrolled away could not be replaced. */
  get height(): number {
    return Math.max(1, (this.#terminal.rows || 24) - 1);
  }

  get #columns(): number {
    return Math.max(2, this.#terminal.columns || 80);
  }

  /** Replaces the lines. Long lines are cut, because a wrapped line would take two. */
  draw(lines: readonly string[]): void {
    const cut = lines.slice(0, this.height).map((line) => fitted(line, this.#columns - 1));
    if (cut.join("\n") === this.#drawn.join("\n")) return;
    const text = cut.map((line) => `${line}${ERASE_TO_END_OF_LINE}`).join("\n");
    this.#terminal.write(`${this.#toStart()}${text}${ERASE_TO_END_OF_SCREEN}`);
    this.#drawn = cut;
  }

  erase(): void {
    if (this.#drawn.length === 0) return;
    this.#terminal.write(`${this.#toStart()}${ERASE_TO_END_OF_SCREEN}`);
    this.#drawn = [];
  }

  /** Keeps the lines and continues below them. */
  leave(): void {
    if (this.#drawn.length > 0) this.#terminal.write("\n");
    this.#drawn = [];
  }

  /** Moves the cursor to the first line. A terminal that became narrower has wrapped the lines. */
  #toStart(): string {
    const rows = this.#drawn.map((line) => Math.max(1, Math.ceil(textWidth(line) / this.#columns)));
    const up = rows.reduce((sum, each) => sum + each, 0) - 1;
    return up > 0 ? `\r\u001b[${up}A` : "\r";
  }
}
