import { MESSAGE_LIMIT, oneLine } from "../../../shared/contract/result.ts";
import type { LogLine, Outcome } from "../action/action.ts";
import { type ReadLogLine, readLogLine } from "../action/log-line.ts";

/** The maximum number of warnings and errors or, if there are none, of other lines. */
const MOST_WARNINGS = 3;
const MOST_OTHERS = 2;
const LONGEST_LINE = 200;
const LONGEST_TOGETHER = 400;
/** Advice that the harness of actions adds to a failure. It is not a reason. */
const ADVICE = "record this BMC to report the failure";
const INTRODUCTION = "; its log: ";
const BETWEEN = " | ";

interface Kept {
  readonly warnings: ReadLogLine[];
  readonly others: ReadLogLine[];
}

/** The last lines of an action's log, for the message of its failure. */
export class LogTail {
  readonly #kept: Readonly<Record<LogLine["stream"], Kept>> = {
    stdout: { warnings: [], others: [] },
    stderr: { warnings: [], others: [] },
  };

  take({ stream, line }: LogLine): void {
    const read = readLogLine(line);
    if (read.message === ADVICE) return;
    const { warnings, others } = this.#kept[stream];
    if (read.severity === "warn" || read.severity === "error") keep(warnings, read, MOST_WARNINGS);
    else if (read.severity === "info" && read.message.trim() !== "") keep(others, read, MOST_OTHERS);
  }

  /**
   * Adds lines of the log to the outcome of a failed action. Without a result, its reason already consists of the last
   * lines.
   */
  addTo(outcome: Outcome): Outcome {
    if (outcome.ok || outcome.result === undefined) return outcome;
    const room = MESSAGE_LIMIT - outcome.message.length - INTRODUCTION.length;
    const said = this.#besides(outcome.message, Math.min(room, LONGEST_TOGETHER));
    return said === "" ? outcome : { ...outcome, message: `${outcome.message}${INTRODUCTION}${said}` };
  }

  /** The newest lines that repeat neither `reason` nor one another, oldest first, up to `longest` characters. */
  #besides(reason: string, longest: number): string {
    const known = [comparable(reason)].filter((text) => text !== "");
    const chosen: string[] = [];
    let length = 0;
    for (const line of this.#bestLines().toReversed()) {
      const text = lineText(line);
      const news = [text, reasonOf(line)].map(comparable).filter((part) => part !== "");
      if (news.some((part) => known.some((other) => other.includes(part) || part.includes(other)))) continue;
      if (length + text.length > longest) break;
      known.push(comparable(text));
      chosen.unshift(text);
      length += text.length + BETWEEN.length;
    }
    return chosen.join(BETWEEN);
  }

  /** The most useful lines. Programs write results to stdout and problems to stderr. */
  #bestLines(): readonly ReadLogLine[] {
    const { stdout, stderr } = this.#kept;
    const sources = [stderr.warnings, stdout.warnings, stderr.others, stdout.others];
    return sources.find((lines) => lines.length > 0) ?? [];
  }
}

function keep(lines: ReadLogLine[], line: ReadLogLine, most: number): void {
  lines.push(line);
  if (lines.length > most) lines.shift();
}

function lineText(line: ReadLogLine): string {
  const reason = reasonOf(line);
  const text = oneLine(reason === "" ? line.message : `${line.message}: ${reason}`);
  return text.length <= LONGEST_LINE ? text : `${text.slice(0, LONGEST_LINE - 1)}…`;
}

/** The field that contains a logger's reason: a text, or an error as pino writes it. */
function reasonOf({ fields: { reason, error, err } }: ReadLogLine): string {
  for (const value of [reason, error, err]) {
    const text = typeof value === "object" && value !== null && "message" in value ? value.message : value;
    if (typeof text === "string") return text.trim();
  }
  return "";
}

/** Normalizes text, so that texts which differ only in case and punctuation are equal. */
function comparable(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, " ")
    .trim();
}
