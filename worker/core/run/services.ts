import type { Clock } from "../../../shared/clock.ts";
import type { Logger } from "../../../shared/logger.ts";
import { type Action, actionKey } from "../action/action.ts";
import type { ActionJournal } from "../action/action-journal.ts";
import type { Observers, SeenAction } from "../action/observer.ts";
import type { Machines } from "../ports/machines.ts";
import type { EarlierRun, Runtime } from "../ports/runtime.ts";
import type { Source } from "../ports/source.ts";
import type { ActionQueue } from "../queue/action-queue.ts";
import type { ReportQueue } from "../reports/report-queue.ts";
import type { OrphanSweep } from "./orphan-sweep.ts";
import type { PauseWatch } from "./pause-watch.ts";

export interface StopSignals {
  /** Aborts when nothing new may start. An action that still waits for its machine is left to the server. */
  readonly stop: AbortSignal;
  /** Aborts when running actions must stop. */
  readonly cancel: AbortSignal;
}

/** Services of the worker that its actions need. */
export interface ExecutorNeeds {
  readonly machines: Machines;
  readonly runtime: Runtime;
  readonly journal: ActionJournal;
  readonly queue: ActionQueue;
  /**
   * Returns the source for an agent ID, which serves its actions and receives their reports, even if the agent ID is no
   * longer polled.
   */
  readonly sourceOf: (agentId: string) => Source;
  /** Whether this worker leads, if only one of several may start actions. Called right before each start. */
  readonly isLeading: () => boolean;
  /** Variables that connect an action to its trace. */
  readonly traceEnvironment: (action: SeenAction) => Readonly<Record<string, string>>;
  readonly defaultTimeoutMs: number;
  /** The longest pause between two attempts of a report. */
  readonly maxBackoffMs: number;
  readonly observer: Observers;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The worker's services, and the objects that its actions share. */
export interface RunServices extends ExecutorNeeds {
  readonly reports: ReportQueue;
  readonly sweep: OrphanSweep;
  readonly throttle: LaunchThrottle;
  readonly earlierRuns: EarlierRuns;
  readonly pauses: PauseWatch;
}

/** Launches per turn of the event loop. */
const LAUNCHES_PER_TURN = 2;

/**
 * Starts launches in order of arrival, a few per turn of the event loop. If a thousand workflows become ready at once, all
 * of them report their start before the first launches take all the time.
 */
export class LaunchThrottle {
  readonly #waiting: (() => void)[] = [];
  #left = LAUNCHES_PER_TURN;
  #isScheduled = false;

  async next(): Promise<void> {
    if (this.#left === 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#left -= 1;
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      const begin = this.#waiting.splice(0, LAUNCHES_PER_TURN);
      this.#left = LAUNCHES_PER_TURN - begin.length;
      for (const resolve of begin) resolve();
    });
  }
}

/** When there are more, the oldest observations are lost. */
const MOST_EARLIER_RUNS = 1_000;

/** Records how long this worker has seen the launches of earlier runs with reused IDs, by the monotonic clock. */
export class EarlierRuns {
  readonly #clock: Clock;
  readonly #seen = new Map<string, { readonly firstMs: number; readonly lastMs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * How long the launch has existed when the server serves the action, as far as this worker knows. The wall clock may have
   * been set back to before the launch.
   */
  seenForMs(action: Action, { handle }: EarlierRun): number {
    const id = `${actionKey(action)} ${JSON.stringify(handle)}`;
    const lastMs = this.#clock.monotonicMs();
    const seen = this.#seen.get(id) ?? { firstMs: lastMs, lastMs };
    if (this.#seen.size >= MOST_EARLIER_RUNS) this.#seen.clear();
    this.#seen.set(id, { ...seen, lastMs });
    return seen.lastMs - seen.firstMs;
  }
}
