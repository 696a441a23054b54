/** From the least severe to the most. */
const LEVELS = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof LEVELS)[number];

/** Whether a line of `level` is written where `least` is the least severe one. */
export function isLogged(level: LogLevel, least: LogLevel): boolean {
  return LEVELS.indexOf(level) >= LEVELS.indexOf(least);
}
