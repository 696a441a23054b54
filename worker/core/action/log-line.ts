import type { Logger } from "../../../shared/logger.ts";
import type { LogLine } from "./action.ts";

export type Severity = "debug" | "info" | "warn" | "error";

export interface ReadLogLine {
  readonly severity: Severity;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly structured: boolean;
  readonly time?: Date | undefined;
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
 * Parses a line of pino (numeric levels, `msg`) or of other JSON loggers (named levels, `message`). Anything else is
 * plain text of severity `info`, because programs also write harmless text to stderr.
 */
export function readLogLine(line: string): ReadLogLine {
  const record = parseRecord(line);
  if (!record) return plainLine(line, "info");
  const { level, msg, message, time, pid: _pid, hostname: _hostname, ...rest } = record;
  const severity = severityOf(level);
  const about = { severity, structured: true, time: timeOf(time) };
  if (typeof msg === "string") {
    return { ...about, message: msg, fields: message === undefined ? rest : { ...rest, message } };
  }
  if (typeof message === "string") return { ...about, message, fields: rest };
  return plainLine(line, severity);
}

function plainLine(line: string, severity: Severity): ReadLogLine {
  return { severity, message: line, fields: {}, structured: false };
}

/** Reads a time from milliseconds since the epoch, or from a text such as ISO 8601. */
function timeOf(value: unknown): Date | undefined {
  if (typeof value !== "number" && typeof value !== "string") return undefined;
  const time = new Date(value);
  return Number.isNaN(time.getTime()) ? undefined : time;
}

/** Reads a level. The levels of pino are 10 trace, 20 debug, 30 info, 40 warn, 50 error and 60 fatal. */
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
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

/**
 * Copies a line of an action's log into the worker's. The worker's fields win, so that an action cannot imitate
 * another.
 */
export function logActionLine(
  log: Logger,
  fields: Readonly<Record<string, unknown>>,
  { stream, line }: LogLine,
): void {
  const { severity, message, fields: said } = readLogLine(line);
  log[severity]({ ...said, ...fields, stream }, message);
}
