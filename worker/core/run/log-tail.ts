import { MESSAGE_LIMIT, oneLine } from "../../../shared/contract/result.ts";
import type { LogLine, Outcome } from "../action/action.ts";
import { type ReadLogLine, readLogLine } from "../action/log-line.ts";

/** At most so many warnings and errors; if there are none, so many other lines. */
const MOST_WARNINGS = 3;
const MOST_OTHERS = 2;
const LONGEST_LINE = 200;
const LONGEST_TOGETHER = 400;
/** What the harness of actions says of a failure, which is no reason of it. */
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
   * The outcome; if the action failed, with what the log says besides the reason. Without a result, the reason is the last
   * lines already.
   */
  addTo(outcome: Outcome): Outcome {
    if (outcome.ok || outcome.result === undefined) return outcome;
    const room = MESSAGE_LIMIT - outcome.message.length - INTRODUCTION.length;
    const said = this.#besides(outcome.message, Math.min(room, LONGEST_TOGETHER));
    return said === "" ? outcome : { ...outcome, message: `${outcome.message}${INTRODUCTION}${said}` };
  }

  /** The newest lines that repeat neither `reason` nor one another, oldest first, within so many characters. */
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

  /** Programs write results to stdout and problems to stderr. */
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

/** The field in which loggers put the reason: a text, or an error as pino writes it. */
function reasonOf({ fields: { reason, error, err } }: ReadLogLine): string {
  for (const value of [reason, error, err]) {
    const text = typeof value === "object" && value !== null && "message" in value ? value.message : value;
    if (typeof text === "string") return text.trim();
  }
  return "";
}

/** Equal for texts that differ in case and punctuation alone. */
function comparable(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, " ")
    .trim();
}
