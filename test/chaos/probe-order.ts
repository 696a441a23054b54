/** What a run tells a worker's probe. */
export type ProbeOrder =
  | { readonly probe: "clock"; readonly offsetMs: number }
  | { readonly probe: "memory" };

/** Where the clock stands when the worker starts, in milliseconds beside the true time. */
export const CLOCK_OFFSET_VARIABLE = "CHAOS_CLOCK_OFFSET_MS";
