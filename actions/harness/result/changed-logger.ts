import { isLogged, type LogFields, type Logger, type LogLevel } from "../../../shared/logger.ts";

/** The depth of values that are logged. */
const DEEPEST = 20;

/** Applies `change` to every text in a value. Errors are first converted to what loggers write for them. */
function mapTexts(value: unknown, change: (text: string) => string, depth = 0): unknown {
  if (typeof value === "string") return change(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth > DEEPEST) return "…";
  const inside = (part: unknown) => mapTexts(part, change, depth + 1);
  if (value instanceof Error) {
    return inside({ type: value.name, message: value.message, stack: value.stack ?? "" });
  }
  if ("toJSON" in value && typeof value.toJSON === "function") return inside(value.toJSON());
  if (Array.isArray(value)) return value.map(inside);
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [change(name), inside(part)]));
}

/** Applies `change` to every text in the fields of a log line. */
function mapFieldTexts(
  fields: Readonly<Record<string, unknown>>,
  change: (text: string) => string,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [change(name), mapTexts(value, change)]),
  );
}

/**
 * Wraps a log so that `change` is applied to every text in it, including a BMC's words. Lines below the level `least`, which
 * `log` does not write, are dropped first.
 */
export function changedLogger(
  log: Logger,
  change: (text: string) => string,
  least: LogLevel = "debug",
): Logger {
  const write = (level: LogLevel) => (fields: LogFields, message: string) => {
    if (isLogged(level, least)) log[level](mapFieldTexts(fields, change), message);
  };
  return { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
}
