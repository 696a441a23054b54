import { type Progress, progressOf, progressText } from "./contract/progress.ts";
import type { LogFields, Logger } from "./logger.ts";
import { printable } from "./printable.ts";

const EVERY_MS = 1_000;
const ERASE_LINE = "\r\u001b[K";

interface Terminal {
  readonly columns?: number;
  write(text: string): unknown;
}

/** The last line of a terminal, which shows what runs now. `clear` it before anything else is written. */
export class LiveLine {
  readonly #terminal: Terminal;
  #timer: NodeJS.Timeout | undefined;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
    process.once("exit", () => this.clear());
  }

  /** `subject` is what does it, such as a machine. */
  show(subject: string, progress: Progress): void {
    clearInterval(this.#timer);
    const startedMs = performance.now();
    const write = () => {
      const text = printable(`${subject}: ${progressText(progress, performance.now() - startedMs)}`);
      // A wrapped line could not be erased.
      this.#terminal.write(`${ERASE_LINE}${text.slice(0, (this.#terminal.columns || 80) - 1)}`);
    };
    write();
    this.#timer = setInterval(write, EVERY_MS).unref();
  }

  /** A log whose progress is shown here, and is not part of it. */
  inPlaceOf(log: Logger, subjectOf: (fields: LogFields) => unknown): Logger {
    const write = (level: keyof Logger) => (fields: LogFields, message: string) => {
      const progress = progressOf(message, fields);
      if (progress) return this.show(String(subjectOf(fields)), progress);
      this.clear();
      log[level](fields, message);
    };
    return { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
  }

  clear(): void {
    if (!this.#timer) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#terminal.write(ERASE_LINE);
  }
}
