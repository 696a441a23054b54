import { textWidth } from "../../shared/table.ts";

const ESCAPE = String.fromCharCode(0x1b);
/** A sequence, or one character. */
const TOKEN = new RegExp(`${ESCAPE}\\[\\d*[A-Z]|[^]`, "gu");

/** A terminal of so many rows and columns that understands what a live block sends. */
export class Screen {
  columns: number;
  rows: number;
  readonly isTTY = true;
  #lines = [""];
  #row = 0;
  #column = 0;

  constructor(columns: number, rows: number) {
    this.columns = columns;
    this.rows = rows;
  }

  /** Everything that was written and not erased, the lines that have scrolled away among them. */
  get text(): string {
    return this.#lines.join("\n");
  }

  write(text: string): boolean {
    for (const [token] of text.matchAll(TOKEN)) this.#take(token);
    return true;
  }

  /** Wraps the lines that are too long, as terminals do. */
  narrow(columns: number): void {
    const cursor = this.#row;
    this.#lines = this.#lines.flatMap((line, row) => {
      const parts = Array.from({ length: Math.max(1, Math.ceil(line.length / columns)) }, (_, part) =>
        line.slice(part * columns, (part + 1) * columns),
      );
      if (row <= cursor) this.#row += parts.length - 1;
      return parts;
    });
    this.columns = columns;
  }

  #take(token: string): void {
    if (token === "\r") this.#column = 0;
    else if (token === "\n") {
      this.#row += 1;
      this.#column = 0;
      if (this.#row === this.#lines.length) this.#lines.push("");
    } else if (token === "\u001b[K") this.#cutLine();
    else if (token === "\u001b[J") {
      this.#cutLine();
      this.#lines.length = this.#row + 1;
    } else if (token.startsWith("\u001b")) {
      const top = Math.max(0, this.#lines.length - this.rows);
      this.#row = Math.max(top, this.#row - Number.parseInt(token.slice(2), 10));
    } else {
      const line = this.#lines[this.#row] ?? "";
      this.#lines[this.#row] = line.slice(0, this.#column) + token + line.slice(this.#column + token.length);
      this.#column += token.length;
      const written = (this.#lines[this.#row] ?? "").slice(0, this.#column);
      if (textWidth(written) > this.columns) throw new Error(`a line is wrapped: ${written}`);
    }
  }

  #cutLine(): void {
    this.#lines[this.#row] = (this.#lines[this.#row] ?? "").slice(0, this.#column);
  }
}
