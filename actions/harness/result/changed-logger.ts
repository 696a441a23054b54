import type { LogFields, Logger } from "../../../shared/logger.ts";
import { mapFieldTexts } from "../../../shared/map-texts.ts";

/** The same log, with every text of it run through `change`: BMCs' own words are among them. */
export function changedLogger(log: Logger, change: (text: string) => string): Logger {
  const changed = (fields: LogFields): LogFields => mapFieldTexts(fields, change);
  return {
    debug: (fields, message) => log.debug(changed(fields), message),
    info: (fields, message) => log.info(changed(fields), message),
    warn: (fields, message) => log.warn(changed(fields), message),
    error: (fields, message) => log.error(changed(fields), message),
  };
}
