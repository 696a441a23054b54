/** Names that every line of a log has itself: a field of that name would be there twice. */
interface ReservedFields {
  readonly level?: never;
  readonly time?: never;
  readonly msg?: never;
}

/** Facts that go with a log message. Never a secret: a `Secret` prints itself as `[redacted]`. */
export type LogFields = Readonly<Record<string, unknown>> & ReservedFields;

/** From the least severe to the most. */
export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Logs one message with its facts. */
export type Log = (fields: LogFields, message: string) => void;

/** Where the library logs: the part of pino that it uses. */
export interface Logger {
  /** What is sent and answered. */
  readonly debug: Log;
  /** What was done. */
  readonly info: Log;
  /** What works, but needs attention. */
  readonly warn: Log;
  /** What failed. */
  readonly error: Log;
}

/** Whether a line of `level` is written where `least` is the least severe one. */
export function isLogged(level: LogLevel, least: LogLevel): boolean {
  return LOG_LEVELS.indexOf(level) >= LOG_LEVELS.indexOf(least);
}

const ignore: Log = () => undefined;

export const silentLogger: Logger = { debug: ignore, info: ignore, warn: ignore, error: ignore };
