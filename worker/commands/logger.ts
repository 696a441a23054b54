import { styleText } from "node:util";
import { type Logger as Pino, pino } from "pino";
import { LONGEST_LOGGED_TEXT } from "../../shared/input-limits.ts";
import type { LogFields, Logger, LogLevel } from "../../shared/logger.ts";
import { printable, shortened } from "../../shared/printable.ts";
import type { CommandProcess } from "./command-process.ts";
import { type LinePart, type Paint, prettyLine } from "./pretty-line.ts";

export interface LogOptions {
  readonly level: LogLevel;
  /** `auto` means `pretty` on a terminal and `json` elsewhere. */
  readonly format: "auto" | "json" | "pretty";
}

/**
 * The parts of the process that the log needs. The stream is used only if there is no descriptor, because opening the stream
 * makes a pipe non-blocking.
 */
interface LogProcess {
  readonly stderr: CommandProcess["stderr"];
  readonly stderrFd?: number | undefined;
}

/** A log whose level can change. */
export interface WorkerLog extends Logger {
  setLevel(level: LogLevel): void;
}

/** Creates the worker's log. It writes to stderr, because stdout is for the output of commands. */
export function createLogger({ level, format }: LogOptions, host: LogProcess): WorkerLog {
  const { stderrFd: fd } = host;
  const destination = fd === undefined ? host.stderr : pino.destination({ fd, sync: true });
  const readable = format === "pretty" || (format === "auto" && host.stderr.isTTY);
  // In colour if the terminal supports it and `NO_COLOR` is not set.
  const paint: Paint = (part, text) => styleText(STYLES[part], text, { stream: host.stderr });
  const stream = readable
    ? { write: (json: string) => void destination.write(`${prettyLine(JSON.parse(json), paint)}\n`) }
    : { write: (json: string) => void destination.write(`${printable(json.trimEnd())}\n`) };
  const logger: Pino = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { log: shortFields },
    },
    stream,
  );
  return {
    debug: (fields, message) => logger.debug(fields, message),
    info: (fields, message) => logger.info(fields, message),
    warn: (fields, message) => logger.warn(fields, message),
    error: (fields, message) => logger.error(fields, message),
    setLevel(next) {
      logger.level = next;
    },
  };
}

/** Shortens fields that contain untrusted text, so that none can fill the disk of a log collector. */
function shortFields(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, shortValue(value)]));
}

function shortValue(value: unknown): unknown {
  if (typeof value === "string") return shortened(value, LONGEST_LOGGED_TEXT);
  if (typeof value !== "object" || value === null) return value;
  const text = JSON.stringify(value);
  return text === undefined || text.length <= LONGEST_LOGGED_TEXT
    ? value
    : shortened(text, LONGEST_LOGGED_TEXT);
}

const STYLES: Readonly<Record<LinePart, Parameters<typeof styleText>[0]>> = {
  time: "gray",
  debug: "gray",
  info: "green",
  warn: "yellow",
  error: ["bold", "red"],
  subject: "cyan",
  facts: "gray",
};

/** Wraps a log so that it drops these messages. */
export function withoutMessages(log: Logger, messages: readonly string[]): Logger {
  const unless = (level: LogLevel) => (fields: LogFields, message: string) => {
    if (!messages.includes(message)) log[level](fields, message);
  };
  return { debug: unless("debug"), info: unless("info"), warn: unless("warn"), error: unless("error") };
}
