import { isLogged, type LogFields, type Logger, type LogLevel } from "../../../shared/logger.ts";
import type { OpenLog } from "./open-pino.ts";

/** The numbers of the levels in pino. */
const PINO_LEVELS: Readonly<Record<LogLevel, number>> = { debug: 20, info: 30, warn: 40, error: 50 };

/** A logger that loads pino when it writes the first line, because imports take most of an action's start. */
export interface ActionLogger extends Logger {
  /** Resolves when all lines so far are written. */
  flush(): Promise<void>;
}

interface Line {
  readonly level: LogLevel;
  readonly fields: LogFields;
  readonly message: string;
}

/** Creates a logger that writes JSON lines to stderr, or readable text if stderr is a terminal. Every line has `context`. */
export function createActionLogger(least: LogLevel, context: LogFields): ActionLogger {
  let sink: Promise<OpenLog> | undefined;
  let last: Promise<void> = Promise.resolve();
  const write = (line: Line) => {
    if (!isLogged(line.level, least)) return;
    sink ??= import("./open-pino.ts").then(({ openPino }) => openPino(least, context));
    const opened = sink;
    last = last.then(async () => (await opened).logger[line.level](line.fields, line.message));
  };
  const log = (level: LogLevel) => (fields: LogFields, message: string) => write({ level, fields, message });
  return {
    debug: log("debug"),
    info: log("info"),
    warn: log("warn"),
    error: log("error"),
    flush: async () => {
      await last;
      (await sink)?.end();
    },
  };
}

/** Creates a logger that passes JSON lines to a callback, for an action that shares its process with others. */
export function createLineLogger(
  least: LogLevel,
  context: LogFields,
  onLine: (line: string) => void,
): Logger {
  const write = (level: LogLevel) => (fields: LogFields, message: string) => {
    if (!isLogged(level, least)) return;
    const about = { level: PINO_LEVELS[level], time: new Date().toISOString(), ...context };
    onLine(asJson({ ...about, ...fields, msg: message }) ?? asJson({ ...about, msg: message }) ?? message);
  };
  return { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
}

/**
 * Formats a line as JSON, with errors as pino writes them. Returns undefined if JSON cannot express it, because a log line
 * must not fail the action.
 */
function asJson(line: Readonly<Record<string, unknown>>): string | undefined {
  try {
    return JSON.stringify(line, (_, value: unknown) =>
      value instanceof Error ? { type: value.name, message: value.message, stack: value.stack } : value,
    );
  } catch {
    return undefined;
  }
}
