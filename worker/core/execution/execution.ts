import type { Turns } from "../turns/turns.ts";
import type { ExecutorOptions } from "./executor-options.ts";
import type { LaunchPace } from "./launch-pace.ts";
import type { LearnedHints } from "./learned-hints.ts";
import type { OrphanSweep } from "./orphan-sweep.ts";
import type { Reports } from "./reports.ts";

/** What the actions of a worker share. */
export interface Execution extends ExecutorOptions {
  readonly turns: Turns;
  readonly reports: Reports;
  readonly sweep: OrphanSweep;
  readonly hints: LearnedHints;
  readonly pace: LaunchPace;
  /** What earlier runs left under IDs that return, by key and handle: when it was first and last seen, by the monotonic clock. */
  readonly earlierRuns: Map<string, { readonly firstMs: number; readonly lastMs: number }>;
}
