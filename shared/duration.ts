const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
const LONGEST_MS = 7 * 24 * 3_600_000;

/**
 * Parses a duration in the notation of operators: `90` (seconds), `500ms`, `45s`, `1m30s`, `2h`. Returns milliseconds, or
 * undefined if the text is invalid or exceeds seven days.
 */
export function parseDurationMs(text: string): number | undefined {
  const trimmed = text.trim();
  if (/^\d+(\.\d+)?$/.test(trimmed)) return bounded(Number(trimmed) * 1_000);
  if (!/^(\d+(\.\d+)?(ms|s|m|h))+$/.test(trimmed)) return undefined;
  let total = 0;
  for (const [, amount, unit] of trimmed.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)) {
    total += Number(amount) * (UNIT_MS[unit ?? ""] ?? Number.NaN);
  }
  return bounded(total);
}

function bounded(ms: number): number | undefined {
  return Number.isFinite(ms) && ms <= LONGEST_MS ? Math.round(ms) : undefined;
}

/** Formats a duration for people: `0.3 s`, `6.2 s`, `1m 4s`. */
export function formatSeconds(ms: number): string {
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  return `${Math.floor(seconds / 60)}m ${seconds % 60}s`;
}

/** Formats a duration in Go's notation (`1m2.5s`), which the tink API uses in `execution_duration`. */
export function formatGoDuration(ms: number): string {
  const hours = Math.floor(ms / 3_600_000);
  const minutes = Math.floor((ms % 3_600_000) / 60_000);
  const seconds = Math.round(ms % 60_000) / 1_000;
  if (hours > 0) return `${hours}h${minutes}m${seconds}s`;
  return minutes > 0 ? `${minutes}m${seconds}s` : `${seconds}s`;
}

/**
 * Formats a growing duration for people: `12 s`, `4m 05s`, `3h 12m`, `2d 3h`. The script of the status page contains this
 * function, so it must use nothing else of this file.
 */
export function elapsedText(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  if (seconds < 60) return `${seconds} s`;
  const two = (value: number) => String(value).padStart(2, "0");
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}m ${two(seconds % 60)}s`;
  const hours = Math.floor(minutes / 60);
  return hours < 24 ? `${hours}h ${two(minutes % 60)}m` : `${Math.floor(hours / 24)}d ${hours % 24}h`;
}
