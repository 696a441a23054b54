/** Names of fields that every log line has anyway. A fact with such a name would appear twice. */
interface ReservedFields {
  readonly level?: never;
  readonly time?: never;
  readonly msg?: never;
}

/** Facts of a log message. They contain no secrets: a `Secret` prints itself as `[redacted]`. */
export type LogFields = Readonly<Record<string, unknown>> & ReservedFields;

/** From the least severe to the most. */
export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Logs one message with its facts. */
export type Log = (fields: LogFields, message: string) => void;

/** The log of the library: the part of pino that it uses. */
export interface Logger {
  /** Requests and answers. */
  readonly debug: Log;
  /** Completed work. */
  readonly info: Log;
  /** Work that succeeds, but needs attention. */
  readonly warn: Log;
  /** Failures. */
  readonly error: Log;
}

/** Whether a line of `level` is written if `least` is the lowest level to write. */
export function isLogged(level: LogLevel, least: LogLevel): boolean {
  return LOG_LEVELS.indexOf(level) >= LOG_LEVELS.indexOf(least);
}

const ignore: Log = () => undefined;

export const silentLogger: Logger = { debug: ignore, info: ignore, warn: ignore, error: ignore };
