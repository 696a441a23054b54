/** The smallest value that at least `share` (0 to 1) of all are not above: the nearest rank. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const value = sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)];
  if (value === undefined) throw new Error("there is no percentile of nothing");
  return value;
}
