/** Facts that go with a log message. Never a secret: a `Secret` prints itself as `[redacted]`. */
export type LogFields = Readonly<Record<string, unknown>>;

type Log = (fields: LogFields, message: string) => void;

/** The part of pino this project uses, so that library code does not load it. */
export interface Logger {
  readonly debug: Log;
  readonly info: Log;
  readonly warn: Log;
  readonly error: Log;
}

const ignore: Log = () => undefined;

export const silentLogger: Logger = { debug: ignore, info: ignore, warn: ignore, error: ignore };
