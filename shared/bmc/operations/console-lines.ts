import { StringDecoder } from "node:string_decoder";
import { INPUT_BYTES } from "../../input-limits.ts";
import { printable } from "../../printable.ts";

/** The longest line in characters. Longer ones become several lines. */
const LONGEST_LINE = INPUT_BYTES.consoleLine;
/** The longest control string, such as a window's title. A longer one has lost its end. */
const LONGEST_STRING = 256;

const ESCAPE = "\u001b";
/** The one-byte beginning of a control sequence (C1). */
const CONTROL_SEQUENCE = "\u009b";
/** The final characters of control sequences that move the cursor or clear the screen (ECMA-48 section 8.3). */
const MOVES = new Set("ABEFHJdfST");
const FORWARD = "C";

type State = "text" | "escape" | "charset" | "sequence" | "string" | "string-escape";

/**
 * Splits what a machine sends to a terminal into lines of text. Colours and other control sequences are removed. A line ends
 * where the cursor moves elsewhere, as in firmware menus. Blank lines are left out. Holds only one line, however much
 * arrives.
 */
export class ConsoleLines {
  readonly #decoder = new StringDecoder("utf8");
  readonly #onLine: (line: string) => void;
  #state: State = "text";
  #line = "";
  #stringLength = 0;

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine;
  }

  /** The line that has not ended, such as a prompt. */
  get unfinished(): string {
    return printable(this.#line.trim());
  }

  push(chunk: Uint8Array): void {
    for (const character of this.#decoder.write(chunk)) this.#take(character);
  }

  /** Ends the unfinished line. Also called where output was lost. */
  finishLine(): void {
    const line = this.unfinished;
    this.#line = "";
    if (line !== "") this.#onLine(line);
  }

  #take(character: string): void {
    if (this.#state === "text") this.#takeText(character);
    else if (character === ESCAPE && this.#state !== "string") this.#state = "escape";
    else this.#state = this.#afterControl(this.#state, character);
  }

  #takeText(character: string): void {
    if (character === ESCAPE) this.#state = "escape";
    else if (character === CONTROL_SEQUENCE) this.#state = "sequence";
    else if (character === "\n" || character === "\r" || character === "\f" || character === "\v")
      this.finishLine();
    else if (character === "\b") this.#line = this.#line.slice(0, -1);
    else if (character === "\t") this.#append(" ");
    else if (!isControl(character)) this.#append(character);
  }

  #append(text: string): void {
    this.#line += text;
    if (this.#line.length >= LONGEST_LINE) this.finishLine();
  }

  #afterControl(state: Exclude<State, "text">, character: string): State {
    switch (state) {
      case "escape":
        return this.#afterEscape(character);
      case "charset":
        return "text";
      case "sequence":
        return this.#afterSequence(character);
      case "string":
        this.#stringLength += 1;
        if (character === ESCAPE) return "string-escape";
        return character === "\u0007" || character === "\u009c" || this.#stringLength > LONGEST_STRING
          ? "text"
          : "string";
      case "string-escape":
        return character === "\\" ? "text" : this.#afterEscape(character);
      default:
        return state satisfies never;
    }
  }

  #afterEscape(character: string): State {
    if (character === "[") return "sequence";
    if ("]PX^_".includes(character)) {
      this.#stringLength = 0;
      return "string";
    }
    // Intermediate characters, as in `ESC ( B`.
    if (character >= " " && character <= "/") return "charset";
    // Index, next line, reverse index and full reset move the cursor.
    if ("DEMc".includes(character)) this.finishLine();
    return "text";
  }

  #afterSequence(character: string): State {
    if (character >= " " && character <= "?") return "sequence";
    if (MOVES.has(character)) this.finishLine();
    else if (character === FORWARD) this.#append(" ");
    // A control character inside a sequence takes effect and the sequence continues; here it ends a broken sequence.
    else if (isControl(character)) this.#takeText(character);
    return "text";
  }
}

function isControl(character: string): boolean {
  const code = character.codePointAt(0) ?? 0;
  return code < 0x20 || (code >= 0x7f && code < 0xa0);
}
