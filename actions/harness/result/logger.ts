import { isLogged, type LogFields, type Logger, type LogLevel } from "../../../shared/logger.ts";
import type { OpenLog } from "./open-pino.ts";

/** Pino's numbers for the levels. */
const PINO_LEVELS: Readonly<Record<LogLevel, number>> = { debug: 20, info: 30, warn: 40, error: 50 };

/** A logger that loads pino with the first line it writes: most of an action's start is what it imports. */
export interface ActionLogger extends Logger {
  /** Resolves when every line so far is written. */
  flush(): Promise<void>;
}

interface Line {
  readonly level: LogLevel;
  readonly fields: LogFields;
  readonly message: string;
}

/** JSON lines on stderr, readable text if that is a terminal. Every line has `context`. */
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

/** A logger that passes JSON lines to a callback, for an action that shares its process with others. */
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

/** Undefined if JSON cannot express it: a log line must not fail the action. Errors are written as pino writes them. */
function asJson(line: Readonly<Record<string, unknown>>): string | undefined {
  try {
    return JSON.stringify(line, (_, value: unknown) =>
      value instanceof Error ? { type: value.name, message: value.message, stack: value.stack } : value,
    );
  } catch {
    return undefined;
  }
}
