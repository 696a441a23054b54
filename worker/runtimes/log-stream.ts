import { type ActionResult, parseResultLine } from "../../shared/contract/result.ts";
import { INPUT_BYTES } from "../../shared/input-limits.ts";
import { cutMark, LineSplitter } from "../../shared/line-splitter.ts";
import type { LineRedactor } from "../../shared/redaction/line-redactor.ts";
import { redactor } from "../../shared/secret-forms.ts";
import { isSpansLine } from "../../shared/tracing/variables.ts";
import type { LogLine } from "../core/action/action.ts";
import type { OutputOptions } from "../core/ports/runtime.ts";
import { OutputBudget, ReadThrottle } from "./output-budget.ts";

/** A result contains what an action has read, so it may be longer than a log line. */
export const LONGEST_RESULT = INPUT_BYTES.actionResult;
const LONGEST_SPANS = INPUT_BYTES.actionSpans;
const LONGEST_LOG_LINE = INPUT_BYTES.actionLogLine;
const LAST_LINES = 5;
/** A length in characters. */
const ENDLESS_LINE = 512 * 1024;
/** The longest grace period for an action that floods its output. */
export const FLOOD_GRACE_MS = 1_000;

export interface WrittenOutput {
  readonly result?: ActionResult;
  /** The last lines of stderr, or of stdout if stderr is empty, without secrets. */
  readonly lastLines: readonly string[];
}

type StreamName = LogLine["stream"];

interface WrittenLine {
  readonly line: string;
  readonly lost: number;
}

/**
 * Processes everything that an action prints, in any runtime: lines of limited length, then budget, redaction, `onLog`
 * and the last lines. The result and the last lines always get through: the result is the last line of stdout and is
 * outside the budget. A similar line that is not the last one is a log line.
 */
export class LogStream {
  readonly throttle = new ReadThrottle();
  readonly #terms: OutputOptions;
  readonly #budget = new OutputBudget();
  readonly #streams: Readonly<Record<StreamName, OneStream>>;
  readonly #splitters = {
    stdout: new LineSplitter(longestOnStdout, (line, lost) => this.#takeStdout({ line, lost })),
    stderr: new LineSplitter(LONGEST_LOG_LINE, (line, lost) => this.#take("stderr", { line, lost })),
  };
  #candidate: string | undefined;
  #result: { readonly value: ActionResult | undefined } | undefined;

  constructor(terms: OutputOptions) {
    this.#terms = terms;
    const redact = terms.redactor ?? redactor({});
    const [stdout, stderr] = redact.joined(2);
    if (!stdout || !stderr) throw new TypeError("two redactors are needed");
    this.#streams = { stdout: new OneStream(stdout), stderr: new OneStream(stderr) };
  }

  /** Whether the last whole line of stdout is a result. */
  get hasResult(): boolean {
    return this.#readResult() !== undefined;
  }

  get isFlooding(): boolean {
    return this.#budget.isFlooding || Object.values(this.#splitters).some(isEndless);
  }

  write(stream: StreamName, chunk: Uint8Array): void {
    this.#splitters[stream].push(chunk);
  }

  writeLine(stream: StreamName, line: string): void {
    const longest = stream === "stdout" ? longestOnStdout(line.charAt(0)) : LONGEST_LOG_LINE;
    const written = { line: line.slice(0, longest), lost: Math.max(0, line.length - longest) };
    if (stream === "stdout") this.#takeStdout(written);
    else this.#take(stream, written);
  }

  /** Takes a line that is certainly not the result. */
  writeLogLine(stream: StreamName, line: string): void {
    this.#take(stream, { line, lost: 0 });
  }

  end(): WrittenOutput {
    this.#splitters.stdout.end();
    this.#splitters.stderr.end();
    const result = this.#readResult();
    if (result === undefined) this.#dropCandidate();
    for (const stream of ["stdout", "stderr"] as const) {
      const newest = this.#streams[stream].takeNewest();
      this.#budget.restore(newest.map(({ line }) => line));
      this.#emitGap(stream);
      for (const line of newest) this.#emit(stream, line);
    }
    const { stdout, stderr } = this.#streams;
    const lastLines = stderr.last.length > 0 ? stderr.last : stdout.last;
    return result ? { result, lastLines } : { lastLines };
  }

  #takeStdout(written: WrittenLine): void {
    const { line, lost } = written;
    if (isSpansLine(line)) {
      const isTaken = lost === 0 && line.length <= LONGEST_SPANS && this.#isTaken(line);
      const redact = this.#terms.redactor ?? redactor({});
      if (isTaken) this.#terms.onLog({ stream: "stdout", line: redact(line) });
      return;
    }
    if (this.#candidate !== undefined) {
      if (line.trim() === "") return;
      this.#dropCandidate();
    }
    if (lost === 0 && mayBeResult(line)) this.#candidate = line;
    else this.#take("stdout", written);
  }

  #readResult(): ActionResult | undefined {
    if (this.#candidate === undefined) return undefined;
    this.#result ??= { value: parseResultLine(this.#candidate) };
    return this.#result.value;
  }

  #dropCandidate(): void {
    const line = this.#candidate;
    this.#candidate = undefined;
    this.#result = undefined;
    if (line !== undefined) this.#take("stdout", { line, lost: 0 });
  }

  #take(stream: StreamName, written: WrittenLine): void {
    const bounded = bound(written);
    if (this.#isTaken(bounded.line, bounded.lost)) {
      this.#emitGap(stream);
      this.#emit(stream, bounded);
    } else this.#streams[stream].drop(bounded);
  }

  #isTaken(line: string, lost = 0): boolean {
    const isFirst = this.#budget.dropped.lines === 0;
    const isTaken = this.#budget.take(line, lost);
    if (!isTaken && isFirst) this.#terms.onDropping?.(this.#budget.dropped);
    return isTaken;
  }

  /** Notes in the action's log that lines are missing. */
  #emitGap(stream: StreamName): void {
    const one = this.#streams[stream];
    const missing = one.takeMissing();
    if (missing === 0) return;
    one.redactor.gap();
    this.#terms.onLog({ stream, line: `[${missing} lines dropped: over the budget of an action's output]` });
  }

  #emit(stream: StreamName, { line, lost }: WrittenLine): void {
    const one = this.#streams[stream];
    const stopAction = one.redactor.take(line, lost > 0) + cutMark(lost);
    if (stopAction.trim() !== "") keepLast(one.last, stopAction);
    this.#terms.onLog({ stream, line: stopAction });
  }
}

class OneStream {
  readonly redactor: LineRedactor;
  readonly last: string[] = [];
  /** The newest lines dropped since the last one that was kept. */
  #newest: WrittenLine[] = [];
  #missing = 0;

  constructor(lines: LineRedactor) {
    this.redactor = lines;
  }

  drop(written: WrittenLine): void {
    this.#missing += 1;
    if (written.line.trim() !== "") keepLast(this.#newest, written);
  }

  /** Returns the newest dropped lines, which are kept after all. */
  takeNewest(): readonly WrittenLine[] {
    const newest = this.#newest;
    this.#newest = [];
    this.#missing -= newest.length;
    return newest;
  }

  takeMissing(): number {
    const missing = this.#missing;
    this.#missing = 0;
    this.#newest = [];
    return missing;
  }
}

function keepLast<T>(lines: T[], line: T): void {
  lines.push(line);
  if (lines.length > LAST_LINES) lines.shift();
}

function longestOnStdout(first: string): number {
  return first === "{" ? LONGEST_RESULT : LONGEST_LOG_LINE;
}

/** A quick check, because parsing every line as JSON would take long. */
export function mayBeResult(line: string): boolean {
  return line.startsWith("{") && line.includes('"action"') && line.includes('"roundTrips"');
}

/** Whether an unfinished line is a flood. It would otherwise count only at its end. */
export function isEndless({ lost }: LineSplitter): boolean {
  return lost > ENDLESS_LINE;
}

function bound({ line, lost }: WrittenLine): WrittenLine {
  if (line.length <= LONGEST_LOG_LINE) return { line, lost };
  return { line: line.slice(0, LONGEST_LOG_LINE), lost: lost + line.length - LONGEST_LOG_LINE };
}
