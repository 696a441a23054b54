import { pino } from "pino";
import type { LogFields, Logger } from "../../../shared/logger.ts";
import { printable } from "../../../shared/printable.ts";
import { openProgressLines, withProgress } from "../../../shared/progress-lines.ts";
import { changedLogger } from "./changed-logger.ts";

export interface OpenLog {
  readonly logger: Logger;
  /** Clears the line of progress, which is not part of the log. */
  end(): void;
}

/** Opens a logger that writes to stderr: JSON lines, or readable text and a line of progress if stderr is a terminal. */
export async function openPino(level: string, context: LogFields): Promise<OpenLog> {
  const options = { level, base: context, timestamp: pino.stdTimeFunctions.isoTime };
  if (!process.stderr.isTTY) {
    const stderr = pino.destination({ fd: 2, sync: true });
    const write = (json: string) => void stderr.write(`${printable(json.trimEnd())}\n`);
    return { logger: pino(options, { write }), end: () => undefined };
  }
  const { default: pretty } = await import("pino-pretty");
  const stream = pretty({
    destination: 2,
    sync: true,
    ignore: "action,machine",
    translateTime: "SYS:HH:MM:ss",
  });
  const lines = openProgressLines(process.stderr);
  const log = changedLogger(pino(options, stream), printable);
  const logger = withProgress(lines, log, () => context["machine"] ?? context["action"]);
  return { logger, end: () => lines.clear() };
}
