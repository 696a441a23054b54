/** How far a BMC's clock is ahead of this host's, in milliseconds. Negative if it is behind. */
export interface ClockSkew {
  readonly skewMs: number;
  /** The largest error of `skewMs` in either direction. */
  readonly uncertaintyMs: number;
}

/** A reading of the BMC's clock and of this host's wall clock before and after it, in milliseconds since the epoch. */
export interface ClockReading {
  readonly bmcMs: number;
  readonly beforeMs: number;
  readonly afterMs: number;
}

const UNITS: readonly (readonly [string, number])[] = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
];

/** Computes the skew. The BMC read its clock between the two times of this host; most BMCs report whole seconds. */
export function clockSkew({ bmcMs, beforeMs, afterMs }: ClockReading): ClockSkew {
  const halfSecondMs = bmcMs % 1_000 === 0 ? 500 : 0;
  return {
    skewMs: bmcMs + halfSecondMs - (beforeMs + afterMs) / 2,
    uncertaintyMs: Math.abs(afterMs - beforeMs) / 2 + halfSecondMs,
  };
}

/** Whether the clocks are certainly further apart than the limit. */
export function exceeds({ skewMs, uncertaintyMs }: ClockSkew, limitMs: number): boolean {
  return Math.abs(skewMs) - uncertaintyMs > limitMs;
}

/** Describes the skew for people: `within 0.6 s of this host's`, `2h 3m ahead of this host's`. */
export function describeSkew({ skewMs, uncertaintyMs }: ClockSkew): string {
  const apartMs = Math.abs(skewMs);
  if (apartMs <= uncertaintyMs) return `within ${(uncertaintyMs / 1_000).toFixed(1)} s of this host's`;
  return `${describeSpan(apartMs)} ${skewMs > 0 ? "ahead of" : "behind"} this host's`;
}

/** Formats a span in its two largest units, because a clock that was never set is decades behind. */
export function describeSpan(ms: number): string {
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  const at = UNITS.findIndex(([, unitMs]) => ms >= unitMs);
  const parts = [...UNITS, ["s", 1_000] as const].slice(at, at + 2);
  let leftMs = ms;
  return parts
    .map(([name, unitMs]) => {
      const count = Math.floor(leftMs / unitMs);
      leftMs -= count * unitMs;
      return `${count}${name}`;
    })
    .join(" ");
}
