import { pino } from "pino";
import type { LogFields, Logger } from "../../shared/logger.ts";
import type { Level } from "./logger.ts";

/** A logger that writes to stderr: JSON lines, or readable text when that is a terminal. */
export async function openPino(level: Level, context: LogFields): Promise<{ readonly logger: Logger }> {
  const options = { level, base: context, timestamp: pino.stdTimeFunctions.isoTime };
  if (!process.stderr.isTTY) return { logger: pino(options, pino.destination({ fd: 2, sync: true })) };
  const { default: pretty } = await import("pino-pretty");
  const stream = pretty({
    destination: 2,
    sync: true,
    ignore: "action,machine",
    translateTime: "SYS:HH:MM:ss",
  });
  return { logger: pino(options, stream) };
}
