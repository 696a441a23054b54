/** A run's instructions for a worker's probe. */
export type ProbeOrder =
  | { readonly probe: "clock"; readonly offsetMs: number }
  | { readonly probe: "memory" };

/** Offset of the clock from the true time when the worker starts, in milliseconds. */
export const CLOCK_OFFSET_VARIABLE = "CHAOS_CLOCK_OFFSET_MS";
