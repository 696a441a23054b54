import { type ActionResult, parseResultLine } from "../../../shared/contract/result.ts";
import { LineSplitter } from "../line-splitter.ts";
import { boundedLine, LogStream, type WrittenOutput } from "../log-stream.ts";
import type { LogLine } from "../runtime.ts";

/** A result of 4 MiB, and the time before it. */
const LONGEST_LINE = 4 * 1024 * 1024 + 64;

/**
 * What one container writes, gathered from one or more readings of its log, each line of which begins with its time. A
 * reading that breaks off is followed by another from the last line's second on, and what came before is skipped by its
 * time (RFC 3339 with nanoseconds), so that no line is lost or given twice.
 */
export class PodOutput {
  readonly #onLog: (line: LogLine) => void;
  readonly #stream: LogStream;
  /** The second of the newest line, and how many lines were taken of each time from then on. */
  #since: string | undefined;
  #taken = new Map<string, number>();
  /** What a reading left without a line end. */
  #tail: string | undefined;
  #candidate: { readonly line: string; readonly result: ActionResult; readonly isLast: boolean } | undefined;

  constructor(onLog: (line: LogLine) => void) {
    this.#onLog = onLog;
    this.#stream = new LogStream(onLog);
  }

  /** From which second on the next reading must read; undefined for all. */
  get since(): string | undefined {
    return this.#since;
  }

  /** Whether the last line was a result: nothing is missing then. */
  get hasResult(): boolean {
    return this.#candidate?.isLast ?? false;
  }

  /** Takes one reading, from `since` on; `end` is called however it ends. */
  read(): { push(chunk: Uint8Array): void; end(): void } {
    const known = new Map(this.#taken);
    let isEnding = false;
    const lines = new LineSplitter(LONGEST_LINE, (line) => {
      if (isEnding) this.#tail = isKnown(known, line) ? undefined : line;
      else if (!isKnown(known, line)) this.#take(line);
    });
    return {
      push: (chunk) => {
        this.#tail = undefined;
        lines.push(chunk);
      },
      end: () => {
        isEnding = true;
        lines.end();
      },
    };
  }

  /**
   * Both streams of a container come as one, in the order in which the node read them: a line of stderr from before the
   * result may come after it. `confirmed` is the result that the container left elsewhere: what says the same is it.
   */
  end(confirmed: ActionResult | undefined): WrittenOutput {
    if (this.#tail !== undefined) this.#take(this.#tail);
    this.#tail = undefined;
    const candidate = this.#candidate;
    if (candidate && (candidate.isLast || (confirmed && isSame(candidate.result, confirmed)))) {
      this.#write(candidate.line);
    } else if (candidate) this.#onLog({ stream: "stdout", line: boundedLine(candidate.line) });
    this.#candidate = undefined;
    return this.#stream.end();
  }

  #take(stamped: string): void {
    const { time, line } = split(stamped);
    const second = time.replace(/\.\d+/, "");
    if (this.#since === undefined || second > this.#since) {
      this.#since = second === "" ? this.#since : second;
      this.#taken = new Map();
    }
    if (second === this.#since) this.#taken.set(time, (this.#taken.get(time) ?? 0) + 1);
    this.#takeLine(line);
  }

  #takeLine(line: string): void {
    const result = parseResultLine(line);
    if (result) {
      if (this.#candidate) this.#onLog({ stream: "stdout", line: boundedLine(this.#candidate.line) });
      this.#candidate = { line, result, isLast: true };
      return;
    }
    if (this.#candidate && line.trim() !== "") this.#candidate = { ...this.#candidate, isLast: false };
    this.#write(line);
  }

  #write(line: string): void {
    this.#stream.write("stdout", Buffer.from(`${line}\n`));
  }
}

/** Whether two results are of the same end; one of them may lack what it read. */
export function isSame(one: ActionResult, other: ActionResult): boolean {
  return (
    one.action === other.action &&
    one.ok === other.ok &&
    one.class === other.class &&
    one.message === other.message
  );
}

function isKnown(known: Map<string, number>, stamped: string): boolean {
  const { time } = split(stamped);
  const count = known.get(time) ?? 0;
  if (count === 0) return false;
  known.set(time, count - 1);
  return true;
}

/** A line without a time is taken as it is. */
function split(stamped: string): { readonly time: string; readonly line: string } {
  const [, time, line] = /^(\d{4}-\d\d-\d\dT\S+) (.*)$/s.exec(stamped) ?? [];
  if (time !== undefined && line !== undefined) return { time, line };
  // An empty line may come as its time alone.
  return /^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)$/.test(stamped)
    ? { time: stamped, line: "" }
    : { time: "", line: stamped };
}
