import type { LogFields, Logger } from "./logger.ts";

/** Logs one of a series of equal failures: the first as a warning, the others for debugging. */
export function logOutage(log: Logger, isFirst: boolean, fields: LogFields, message: string): void {
  if (isFirst) log.warn(fields, message);
  else log.debug(fields, message);
}
