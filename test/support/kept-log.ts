import type { LogFields, Logger } from "../../shared/logger.ts";

export interface KeptLine {
  readonly level: keyof Logger;
  readonly message: string;
  readonly fields: LogFields;
}

/** A log that keeps its entries. */
export function keptLog() {
  const said: KeptLine[] = [];
  const at = (level: keyof Logger) => (fields: LogFields, message: string) =>
    void said.push({ level, message, fields });
  const log: Logger = { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
  return { said, log };
}
