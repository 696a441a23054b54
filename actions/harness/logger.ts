import type { LogFields, Logger } from "../../shared/logger.ts";

const LEVELS = ["debug", "info", "warn", "error"] as const;
export type Level = (typeof LEVELS)[number];

/** A logger that loads pino with the first line it writes: most of an action's start is what it imports. */
export interface ActionLogger extends Logger {
  /** Resolves when every line so far is written. */
  flush(): Promise<void>;
}

interface Line {
  readonly level: Level;
  readonly fields: LogFields;
  readonly message: string;
}

/** JSON lines on stderr, readable text when that is a terminal. `context` goes with every line. */
export function createActionLogger(least: Level, context: LogFields): ActionLogger {
  let sink: Promise<{ readonly logger: Logger }> | undefined;
  let last: Promise<void> = Promise.resolve();
  const write = (line: Line) => {
    if (LEVELS.indexOf(line.level) < LEVELS.indexOf(least)) return;
    sink ??= import("./open-pino.ts").then(({ openPino }) => openPino(least, context));
    const opened = sink;
    last = last.then(async () => (await opened).logger[line.level](line.fields, line.message));
  };
  const log = (level: Level) => (fields: LogFields, message: string) => write({ level, fields, message });
  return {
    debug: log("debug"),
    info: log("info"),
    warn: log("warn"),
    error: log("error"),
    flush: () => last,
  };
}
