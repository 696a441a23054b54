import type { LogFields, Logger } from "./logger.ts";

/** Logs one of several equal failures: the first as a warning, the others at the debug level. */
export function logOutage(log: Logger, isFirst: boolean, fields: LogFields, message: string): void {
  if (isFirst) log.warn(fields, message);
  else log.debug(fields, message);
}
