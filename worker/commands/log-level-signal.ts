import type { LogLevel, WorkerLog } from "./logger.ts";

const SIGNAL = "SIGUSR2";

/** SIGUSR2 toggles between the debug level and the configured one. Windows has no such signal. */
export function switchLevelOnSignal(log: WorkerLog, configured: LogLevel): void {
  let level = configured;
  process.on(SIGNAL, () => {
    level = level === "debug" ? configured : "debug";
    // Logged at the lower level: a log of errors alone would not have it.
    if (level === "debug") log.setLevel(level);
    log.info({ level, signal: SIGNAL }, "log level changed");
    log.setLevel(level);
  });
}
