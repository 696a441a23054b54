import { type ActionResult, parseResultLine } from "../../shared/contract/result.ts";
import { isSpansLine } from "../../shared/tracing/variables.ts";
import { LineSplitter } from "./line-splitter.ts";
import type { LogLine } from "./runtime.ts";

/** A result carries what a reading action read, so it may be long; a log line may not. */
const LONGEST_RESULT = 4 * 1024 * 1024;
const LONGEST_LOG_LINE = 16 * 1024;
const LAST_LINES = 5;

/** What an action wrote, in the end. */
export interface WrittenOutput {
  /** The last line of stdout, where that is a result. */
  readonly result?: ActionResult;
  /** The last lines of stderr, or of stdout when stderr stayed empty. */
  readonly lastLines: readonly string[];
}

/**
 * Takes the two streams of one action: hands every line on as it comes, keeps the last ones, and withholds
 * the result. A line that looks like a result is only one when nothing follows it on stdout.
 */
export class LogStream {
  readonly #onLog: (line: LogLine) => void;
  readonly #last = { stdout: [] as string[], stderr: [] as string[] };
  readonly #splitters = {
    stdout: new LineSplitter(LONGEST_RESULT, (line) => this.#takeStdout(line)),
    stderr: new LineSplitter(LONGEST_LOG_LINE, (line) => this.#emit("stderr", line)),
  };
  #candidate: { readonly line: string; readonly result: ActionResult } | undefined;

  constructor(onLog: (line: LogLine) => void) {
    this.#onLog = onLog;
  }

  /** Whether the last whole line of stdout is a result. */
  get hasResult(): boolean {
    return this.#candidate !== undefined;
  }

  write(stream: LogLine["stream"], chunk: Uint8Array): void {
    this.#splitters[stream].push(chunk);
  }

  end(): WrittenOutput {
    this.#splitters.stdout.end();
    this.#splitters.stderr.end();
    const lastLines = this.#last.stderr.length > 0 ? this.#last.stderr : this.#last.stdout;
    return this.#candidate ? { result: this.#candidate.result, lastLines } : { lastLines };
  }

  #takeStdout(line: string): void {
    if (isSpansLine(line)) {
      this.#onLog({ stream: "stdout", line });
      return;
    }
    if (this.#candidate) {
      if (line.trim() === "") return;
      this.#emit("stdout", this.#candidate.line);
      this.#candidate = undefined;
    }
    const result = parseResultLine(line);
    if (result) this.#candidate = { line, result };
    else this.#emit("stdout", line);
  }

  #emit(stream: LogLine["stream"], line: string): void {
    const bounded = boundedLine(line);
    if (bounded.trim() !== "") {
      const last = this.#last[stream];
      last.push(bounded);
      if (last.length > LAST_LINES) last.shift();
    }
    this.#onLog({ stream, line: bounded });
  }
}

/** A log line as long as one may be. */
export function boundedLine(line: string): string {
  return line.length <= LONGEST_LOG_LINE ? line : `${line.slice(0, LONGEST_LOG_LINE)}…`;
}
