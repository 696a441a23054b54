import type { Logger } from "../../shared/logger.ts";
import type { LogLine } from "../action/action.ts";

export type Severity = "debug" | "info" | "warn" | "error";

/** One line of an action's log, understood. */
export interface ReadLogLine {
  readonly severity: Severity;
  readonly message: string;
  /** What a structured line says besides; empty for plain text. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** It has a level of its own. */
  readonly structured: boolean;
  /** When it was written, where it says so. */
  readonly time?: Date;
}

const NAMED_SEVERITY: Readonly<Record<string, Severity>> = {
  trace: "debug",
  debug: "debug",
  info: "info",
  warn: "warn",
  warning: "warn",
  error: "error",
  fatal: "error",
  panic: "error",
};

/**
 * Reads a line as pino writes it (numbers for levels, `msg`), or as other JSON loggers do (names for levels,
 * `message`). Anything else is plain text of severity `info`: programs write harmless things to stderr.
 */
export function readLogLine(line: string): ReadLogLine {
  const record = parseRecord(line);
  if (!record) return plainLine(line, "info");
  const { level, msg, message, time, pid: _pid, hostname: _hostname, ...rest } = record;
  const severity = severityOf(level);
  const writtenAt = timeOf(time);
  const about = { severity, structured: true, ...(writtenAt && { time: writtenAt }) };
  if (typeof msg === "string") {
    return { ...about, message: msg, fields: message === undefined ? rest : { ...rest, message } };
  }
  if (typeof message === "string") return { ...about, message, fields: rest };
  return plainLine(line, severity);
}

function plainLine(line: string, severity: Severity): ReadLogLine {
  return { severity, message: line, fields: {}, structured: false };
}

/** Milliseconds since the epoch, or a text such as ISO 8601 has. */
function timeOf(value: unknown): Date | undefined {
  if (typeof value !== "number" && typeof value !== "string") return undefined;
  const time = new Date(value);
  return Number.isNaN(time.getTime()) ? undefined : time;
}

/** pino's levels: 10 trace, 20 debug, 30 info, 40 warn, 50 error, 60 fatal. */
function severityOf(level: unknown): Severity {
  if (typeof level === "string") return NAMED_SEVERITY[level.toLowerCase()] ?? "info";
  if (typeof level !== "number") return "info";
  if (level >= 50) return "error";
  if (level >= 40) return "warn";
  return level >= 30 ? "info" : "debug";
}

function parseRecord(line: string): Record<string, unknown> | undefined {
  if (!line.startsWith("{")) return undefined;
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

/** Puts one line of an action's own log into the worker's. The worker's fields win: an action must not pass for another. */
export function logActionLine(
  log: Logger,
  fields: Readonly<Record<string, unknown>>,
  { stream, line }: LogLine,
): void {
  const { severity, message, fields: said } = readLogLine(line);
  log[severity]({ ...said, ...fields, stream }, message);
}
