import { type ActionResult, parseResultLine } from "../../../shared/contract/result.ts";
import { LineSplitter } from "../../../shared/line-splitter.ts";
import type { OutputOptions } from "../../core/ports/runtime.ts";
import { isEndless, LONGEST_RESULT, LogStream, mayBeResult, type WrittenOutput } from "../log-stream.ts";

const LONGEST_TIME = 64;

/**
 * Collects what a container writes, from one or more readings of its log with timestamps. After an interruption, the
 * next reading starts at the last line's second, and known lines are skipped by their time (RFC 3339 with
 * nanoseconds), so that no line is lost or repeated.
 */
export class PodOutput {
  readonly stream: LogStream;
  /** The second of the newest line, and the number of lines per time from then on. */
  #since: string | undefined;
  #taken = new Map<string, number>();
  #tail: string | undefined;
  #lines: LineSplitter | undefined;
  #candidate: { readonly line: string; readonly isLast: boolean } | undefined;

  constructor(terms: OutputOptions) {
    this.stream = new LogStream(terms);
  }

  /** Where the next reading must start; undefined for the beginning. */
  get since(): string | undefined {
    return this.#since;
  }

  /** Whether the last line is a result, so that nothing is missing. */
  get hasResult(): boolean {
    return this.#candidate?.isLast === true && parseResultLine(this.#candidate.line) !== undefined;
  }

  get isFlooding(): boolean {
    return this.stream.isFlooding || (this.#lines !== undefined && isEndless(this.#lines));
  }

  /** Starts a reading from `since` on. Call `end` however the reading ends. */
  read(): { push(chunk: Uint8Array): Promise<void>; end(): void } {
    const known = new Map(this.#taken);
    let isEnding = false;
    const { since } = this;
    const isNew = (line: string) => !isKnown(known, since, line);
    const lines = new LineSplitter(LONGEST_RESULT + LONGEST_TIME, (line) => {
      if (isEnding) this.#tail = isNew(line) ? line : undefined;
      else if (isNew(line)) this.#take(line);
    });
    this.#lines = lines;
    return {
      push: (chunk) => {
        this.#tail = undefined;
        return this.stream.throttle.read(chunk, (part) => lines.push(part));
      },
      end: () => {
        isEnding = true;
        lines.end();
      },
    };
  }

  /**
   * Stdout and stderr arrive in one stream, in the order in which the node read them: an earlier line of stderr may
   * follow the result. `confirmed` is the result from the termination message: an equal candidate is the result.
   */
  end(confirmed: ActionResult | undefined): WrittenOutput {
    if (this.#tail !== undefined) this.#take(this.#tail);
    this.#tail = undefined;
    const candidate = this.#candidate;
    const isLate = candidate && !candidate.isLast;
    if (isLate && confirmed && isSame(parseResultLine(candidate.line), confirmed)) {
      this.stream.writeLine("stdout", candidate.line);
    } else if (isLate) this.stream.writeLogLine("stdout", candidate.line);
    else if (candidate) this.stream.writeLine("stdout", candidate.line);
    this.#candidate = undefined;
    return this.stream.end();
  }

  #take(stamped: string): void {
    const { time, line } = split(stamped);
    const second = secondOf(time);
    if (this.#since === undefined || second > this.#since) {
      this.#since = second === "" ? this.#since : second;
      this.#taken = new Map();
    }
    if (second === this.#since) this.#taken.set(time, (this.#taken.get(time) ?? 0) + 1);
    this.#takeLine(line);
  }

  #takeLine(line: string): void {
    if (mayBeResult(line)) {
      if (this.#candidate) this.stream.writeLogLine("stdout", this.#candidate.line);
      this.#candidate = { line, isLast: true };
      return;
    }
    if (this.#candidate && line.trim() !== "") this.#candidate = { ...this.#candidate, isLast: false };
    this.stream.writeLine("stdout", line);
  }
}

/** Whether two results report the same end; one of them may lack its data. */
function isSame(one: ActionResult | undefined, other: ActionResult): boolean {
  return (["action", "ok", "class", "message"] as const).every((field) => one?.[field] === other[field]);
}

/**
 * Whether a line is known: it is from an earlier second than the newest line, or as many lines with its time were already
 * taken.
 */
function isKnown(known: Map<string, number>, since: string | undefined, stamped: string): boolean {
  const { time } = split(stamped);
  if (since !== undefined && time !== "" && secondOf(time) < since) return true;
  const count = known.get(time) ?? 0;
  if (count === 0) return false;
  known.set(time, count - 1);
  return true;
}

function secondOf(time: string): string {
  return time.replace(/\.\d+/, "");
}

/** A line without a time is kept as it is. */
function split(stamped: string): { readonly time: string; readonly line: string } {
  const [, time, line] = /^(\d{4}-\d\d-\d\dT\S+) (.*)$/s.exec(stamped) ?? [];
  if (time !== undefined && line !== undefined) return { time, line };
  // An empty line may consist of its time alone.
  return /^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)$/.test(stamped)
    ? { time: stamped, line: "" }
    : { time: "", line: stamped };
}
