/** Facts that go with a log message. Never a secret: a `Secret` prints itself as `[redacted]`. */
export type LogFields = Readonly<Record<string, unknown>>;

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

const ignore: Log = () => undefined;

export const silentLogger: Logger = { debug: ignore, info: ignore, warn: ignore, error: ignore };
