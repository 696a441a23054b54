import type { Log, Logger } from "../../../shared/logger.ts";

/** Adds the name of a machine source to every message. */
export function sourceLog(log: Logger, source: string): Logger {
  const at =
    (level: keyof Logger): Log =>
    (fields, message) =>
      log[level]({ source, ...fields }, message);
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}
