import { type Progress, progressOf, progressText } from "./contract/progress.ts";
import { LiveBlock, type Terminal } from "./live-block.ts";
import type { LogFields, Logger } from "./logger.ts";
import { printableLine } from "./printable.ts";

const EVERY_MS = 100;

/** The current progress, with one line per subject, such as a machine. */
export interface ProgressLines {
  /** Sets what the subject is doing. */
  show(subject: string, progress: Progress): void;
  /** Sets how far the subject is, or that it is queued. Shown on a terminal only. */
  note(subject: string, text: string): void;
  /** Removes the line of a finished subject. */
  end(subject: string): void;
  /** Calls a function that writes to the same terminal. */
  above<T>(write: () => T): T;
  /** Removes all lines. */
  clear(): void;
}

/**
 * Opens progress lines. On a terminal they are its last lines and show the elapsed time; elsewhere there is one line per
 * change.
 */
export function openProgressLines(out: Terminal & { readonly isTTY?: boolean }): ProgressLines {
  return out.isTTY && process.env["TERM"] !== "dumb" ? new LiveLines(out) : new PlainLines(out);
}

/** Returns progress lines that show nothing. */
export function hiddenProgress(): ProgressLines {
  return new PlainLines({ write: () => undefined });
}

/** Wraps a log so that its progress is shown in the lines instead of the log. */
export function withProgress(
  lines: ProgressLines,
  log: Logger,
  subjectOf: (fields: LogFields) => unknown,
): Logger {
  const write = (level: keyof Logger) => (fields: LogFields, message: string) => {
    const progress = progressOf(message, fields);
    if (progress) lines.show(String(subjectOf(fields)), progress);
    else lines.above(() => log[level](fields, message));
  };
  return { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
}

interface Line {
  readonly hasStarted: boolean;
  text(): string;
}

class LiveLines implements ProgressLines {
  readonly #block: LiveBlock;
  readonly #lines = new Map<string, Line>();
  #timer: NodeJS.Timeout | undefined;
  #writing = 0;

  constructor(terminal: Terminal) {
    this.#block = new LiveBlock(terminal);
    process.once("exit", () => this.clear());
  }

  show(subject: string, progress: Progress): void {
    const startedMs = performance.now();
    this.#set(subject, {
      hasStarted: true,
      text: () => progressText(progress, performance.now() - startedMs),
    });
  }

  note(subject: string, text: string): void {
    this.#set(subject, { hasStarted: this.#lines.get(subject)?.hasStarted ?? false, text: () => text });
  }

  end(subject: string): void {
    this.#lines.delete(subject);
    if (this.#lines.size === 0) this.clear();
  }

  above<T>(write: () => T): T {
    this.#block.erase();
    this.#writing += 1;
    const written = () => {
      this.#writing -= 1;
      this.#draw();
    };
    let result: T | undefined;
    try {
      result = write();
      return result;
    } finally {
      if (result instanceof Promise) result.then(written, written);
      else written();
    }
  }

  clear(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#lines.clear();
    this.#block.erase();
  }

  #set(subject: string, line: Line): void {
    this.#lines.set(subject, line);
    if (this.#timer) return;
    this.#timer = setInterval(() => this.#draw(), EVERY_MS).unref();
    this.#draw();
  }

  #draw(): void {
    if (this.#writing > 0 || this.#lines.size === 0) return;
    const all = [...this.#lines];
    const { height } = this.#block;
    const isCut = all.length > height;
    // Queued subjects are hidden before running ones.
    const byState = [true, false].flatMap((started) => all.filter(([, line]) => line.hasStarted === started));
    const shown = new Set(isCut ? byState.slice(0, height - 1) : all);
    const more = isCut ? [`… and ${all.length - shown.size} more`] : [];
    this.#block.draw([...all.filter((one) => shown.has(one)).map(lineText), ...more]);
  }
}

function lineText([subject, line]: readonly [string, Line]): string {
  return printableLine(`${subject}: ${line.text()}`);
}

class PlainLines implements ProgressLines {
  readonly #out: Pick<Terminal, "write">;
  readonly #last = new Map<string, string>();

  constructor(out: Pick<Terminal, "write">) {
    this.#out = out;
  }

  show(subject: string, { text }: Progress): void {
    if (this.#last.get(subject) === text) return;
    this.#last.set(subject, text);
    this.#out.write(`${printableLine(`${subject}: ${text}`)}\n`);
  }

  note(): void {
    // Each note would be a line.
  }

  end(subject: string): void {
    this.#last.delete(subject);
  }

  above<T>(write: () => T): T {
    return write();
  }

  clear(): void {
    this.#last.clear();
  }
}
