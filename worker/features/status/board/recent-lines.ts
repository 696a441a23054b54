import { printableLine, shortened } from "../../../../shared/printable.ts";
import type { LogLine } from "../../../core/action/action.ts";
import { readLogLine, type Severity } from "../../../core/action/log-line.ts";

interface LogBounds {
  /** The maximum number of lines per action; the last ones are kept. */
  readonly lines: number;
  /** The maximum number of characters per line. */
  readonly lineCharacters: number;
  /** The maximum number of characters of all actions together. */
  readonly characters: number;
}

const LOG_BOUNDS: LogBounds = { lines: 200, lineCharacters: 1_000, characters: 4 * 1024 * 1024 };

/** One line as shown on the page. */
export interface ShownLine {
  /** The number of the line in the action's log, from 0. */
  readonly number: number;
  readonly at: Date;
  readonly severity: Severity;
  readonly text: string;
}

interface Log {
  readonly lines: ShownLine[];
  /** Number of all lines, including dropped ones. */
  written: number;
}

/** The last lines of each action's log, in bounded memory: lines of ended actions are dropped first. */
export class RecentLines {
  readonly #bounds: LogBounds;
  readonly #running = new Map<string, Log>();
  /** Ended actions in the order of their end. */
  readonly #ended = new Map<string, Log>();
  #characters = 0;

  constructor(bounds: LogBounds = LOG_BOUNDS) {
    this.#bounds = bounds;
  }

  get characters(): number {
    return this.#characters;
  }

  add(key: string, { line }: LogLine, at: Date): void {
    const log = this.#find(key) ?? { lines: [], written: 0 };
    if (log.written === 0) this.#running.set(key, log);
    const { severity, message, fields } = readLogLine(line);
    const facts = Object.entries(fields).map(([name, value]) => `${name}=${factText(value)}`);
    const text = shortened(printableLine([message, ...facts].join(" ")), this.#bounds.lineCharacters);
    log.lines.push({ number: log.written, at, severity, text });
    log.written += 1;
    this.#characters += text.length;
    if (log.lines.length > this.#bounds.lines) this.#drop(log, 1);
    while (this.#characters > this.#bounds.characters) this.#makeRoom();
  }

  /** The lines of an action, the oldest first, and the number of lines that were dropped before them. */
  of(key: string): { readonly lines: readonly ShownLine[]; readonly dropped: number } {
    const { lines, written } = this.#find(key) ?? { lines: [], written: 0 };
    return { lines, dropped: written - lines.length };
  }

  end(key: string): void {
    const log = this.#running.get(key);
    if (log) this.#ended.set(key, log);
    this.#running.delete(key);
  }

  forget(key: string): void {
    const log = this.#find(key);
    if (log) this.#drop(log, log.lines.length);
    this.#running.delete(key);
    this.#ended.delete(key);
  }

  #find(key: string): Log | undefined {
    return this.#ended.get(key) ?? this.#running.get(key);
  }

  #makeRoom(): void {
    const ended = [...this.#ended.values()].find(({ lines }) => lines.length > 0);
    if (ended) {
      this.#drop(ended, ended.lines.length);
      return;
    }
    for (const [key, log] of this.#running) {
      this.#drop(log, Math.ceil(log.lines.length / 2));
      // Another action may lose lines next time.
      this.#running.delete(key);
      this.#running.set(key, log);
      return;
    }
  }

  #drop(log: Log, count: number): void {
    for (const { text } of log.lines.splice(0, count)) this.#characters -= text.length;
  }
}

function factText(value: unknown): string {
  if (typeof value === "string" && /^[^\s"=]+$/.test(value)) return value;
  return JSON.stringify(value) ?? "";
}
