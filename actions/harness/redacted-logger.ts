import type { LogFields, Logger } from "../../shared/logger.ts";

/** The same log, with every text of its fields run through `redact`: BMCs' own words are among them. */
export function redactedLogger(log: Logger, redact: (text: string) => string): Logger {
  const redacted = (fields: LogFields): LogFields => {
    const text = JSON.stringify(fields);
    const clean = redact(text);
    return clean === text ? fields : JSON.parse(clean);
  };
  return {
    debug: (fields, message) => log.debug(redacted(fields), message),
    info: (fields, message) => log.info(redacted(fields), message),
    warn: (fields, message) => log.warn(redacted(fields), message),
    error: (fields, message) => log.error(redacted(fields), message),
  };
}
