import { printableLine, shortened } from "../../../../shared/printable.ts";
import type { LogLine } from "../../../core/action/action.ts";
import { readLogLine, type Severity } from "../../../core/runtime/log-line.ts";

export interface LogBounds {
  /** Per action; the last ones are kept. */
  readonly lines: number;
  /** Per line. */
  readonly lineCharacters: number;
  /** Of all actions together. */
  readonly characters: number;
}

export const LOG_BOUNDS: LogBounds = { lines: 200, lineCharacters: 1_000, characters: 4 * 1024 * 1024 };

/** One line as shown on the page. */
export interface ShownLine {
  /** Counts all lines of the action from 0. */
  readonly number: number;
  readonly at: Date;
  readonly severity: Severity;
  readonly text: string;
}

interface Kept {
  readonly lines: ShownLine[];
  /** Number of all lines, including dropped ones. */
  written: number;
}

/** The last lines of each action's log, in bounded memory: lines of ended actions are dropped first. */
export class RecentLines {
  readonly #bounds: LogBounds;
  readonly #running = new Map<string, Kept>();
  /** In the order in which they ended. */
  readonly #ended = new Map<string, Kept>();
  #characters = 0;

  constructor(bounds: LogBounds = LOG_BOUNDS) {
    this.#bounds = bounds;
  }

  get characters(): number {
    return this.#characters;
  }

  add(key: string, line: LogLine, at: Date): void {
    const kept = this.#ended.get(key) ?? this.#running.get(key) ?? this.#begin(key);
    const { severity, text } = shownText(line, this.#bounds.lineCharacters);
    kept.lines.push({ number: kept.written, at, severity, text });
    kept.written += 1;
    this.#characters += text.length;
    if (kept.lines.length > this.#bounds.lines) this.#drop(kept, 1);
    while (this.#characters > this.#bounds.characters) this.#makeRoom();
  }

  /** Oldest line first, and the number of dropped lines before it. */
  of(key: string): { readonly lines: readonly ShownLine[]; readonly dropped: number } {
    const kept = this.#running.get(key) ?? this.#ended.get(key);
    return kept
      ? { lines: kept.lines, dropped: kept.written - kept.lines.length }
      : { lines: [], dropped: 0 };
  }

  end(key: string): void {
    const kept = this.#running.get(key);
    if (!kept) return;
    this.#running.delete(key);
    this.#ended.set(key, kept);
  }

  forget(key: string): void {
    for (const logs of [this.#running, this.#ended]) {
      const kept = logs.get(key);
      if (kept) this.#drop(kept, kept.lines.length);
      logs.delete(key);
    }
  }

  #begin(key: string): Kept {
    const kept: Kept = { lines: [], written: 0 };
    this.#running.set(key, kept);
    return kept;
  }

  #makeRoom(): void {
    for (const kept of this.#ended.values()) {
      if (kept.lines.length === 0) continue;
      this.#drop(kept, kept.lines.length);
      return;
    }
    const [first] = this.#running;
    if (!first) return;
    const [key, kept] = first;
    this.#drop(kept, Math.ceil(kept.lines.length / 2));
    // The next time another action loses lines.
    this.#running.delete(key);
    this.#running.set(key, kept);
  }

  #drop(kept: Kept, count: number): void {
    for (const { text } of kept.lines.splice(0, count)) this.#characters -= text.length;
  }
}

function shownText(line: LogLine, most: number): Pick<ShownLine, "severity" | "text"> {
  const { severity, message, fields } = readLogLine(line.line);
  const facts = Object.entries(fields).map(([name, value]) => `${name}=${factText(value)}`);
  return { severity, text: shortened(printableLine([message, ...facts].join(" ")), most) };
}

function factText(value: unknown): string {
  if (typeof value === "string" && /^[^\s"=]+$/.test(value)) return value;
  return JSON.stringify(value) ?? "";
}
