import { pino } from "pino";
import type { LogFields, Logger } from "../../../shared/logger.ts";
import { printable } from "../../../shared/printable.ts";
import { changedLogger } from "./changed-logger.ts";

/** A logger that writes to stderr: JSON lines, or readable text when that is a terminal. */
export async function openPino(level: string, context: LogFields): Promise<{ readonly logger: Logger }> {
  const options = { level, base: context, timestamp: pino.stdTimeFunctions.isoTime };
  if (!process.stderr.isTTY) {
    const stderr = pino.destination({ fd: 2, sync: true });
    const write = (json: string) => void stderr.write(`${printable(json.trimEnd())}\n`);
    return { logger: pino(options, { write }) };
  }
  const { default: pretty } = await import("pino-pretty");
  const stream = pretty({
    destination: 2,
    sync: true,
    ignore: "action,machine",
    translateTime: "SYS:HH:MM:ss",
  });
  return { logger: changedLogger(pino(options, stream), printable) };
}
