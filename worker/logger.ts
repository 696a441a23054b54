import { type Logger as Pino, pino } from "pino";
import pretty from "pino-pretty";
import type { Logger } from "../shared/logger.ts";

export interface LogOptions {
  readonly level: "debug" | "info" | "warn" | "error";
  /** `auto` is text for people on a terminal and JSON lines elsewhere. */
  readonly format: "auto" | "json" | "pretty";
}

/** The worker's log, on stderr: stdout belongs to what a command prints. */
export function createLogger({ level, format }: LogOptions): Logger {
  const options = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime };
  const readable = format === "pretty" || (format === "auto" && process.stderr.isTTY);
  const logger: Pino = readable
    ? pino(options, pretty({ destination: 2, sync: true, translateTime: "SYS:HH:MM:ss" }))
    : pino(options, pino.destination({ fd: 2, sync: true }));
  return logger;
}
