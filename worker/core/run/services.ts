import type { Clock } from "../../../shared/clock.ts";
import type { Logger } from "../../../shared/logger.ts";
import { type Action, actionKey } from "../action/action.ts";
import type { ActionJournal } from "../action/action-journal.ts";
import type { Observers, SeenAction } from "../action/observer.ts";
import type { Machines } from "../ports/machines.ts";
import type { EarlierRun, Runtime } from "../ports/runtime.ts";
import type { Source } from "../ports/source.ts";
import type { ReportQueue } from "../reports/report-queue.ts";
import type { Turns } from "../turns/turns.ts";
import type { OrphanSweep } from "./orphan-sweep.ts";

export interface StopSignals {
  /** Start nothing new: an action that still waits for its machine is left to the server. */
  readonly stop: AbortSignal;
  /** Stop what runs. */
  readonly cancel: AbortSignal;
}

/** What the actions of a worker need of the rest of it. */
export interface ExecutorNeeds {
  readonly machines: Machines;
  readonly runtime: Runtime;
  readonly journal: ActionJournal;
  readonly turns: Turns;
  /** Where actions of an agent ID come from, and their reports go to; also of one that is no longer polled for. */
  readonly sourceOf: (agentId: string) => Source;
  /** Whether this worker leads, if only one of several may start anything. Asked right before each start. */
  readonly isLeading: () => boolean;
  /** Variables that join an action to its trace. */
  readonly traceEnvironment: (action: SeenAction) => Readonly<Record<string, string>>;
  readonly defaultTimeoutMs: number;
  /** Between two attempts of a report. */
  readonly maxBackoffMs: number;
  readonly observer: Observers;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The needs, and what the actions share. */
export interface RunServices extends ExecutorNeeds {
  readonly reports: ReportQueue;
  readonly sweep: OrphanSweep;
  readonly pace: LaunchPace;
  readonly earlierRuns: EarlierRuns;
}

/** So many launches begin per turn of the event loop. */
const PER_TURN = 2;

/**
 * Starts launches first in, first out, a few per turn of the event loop. If a thousand workflows become ready at once, all of
 * them report their start before the first launches take all the time.
 */
export class LaunchPace {
  readonly #waiting: (() => void)[] = [];
  #left = PER_TURN;
  #isTurning = false;

  async next(): Promise<void> {
    if (this.#left === 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#left -= 1;
    this.#turn();
  }

  #turn(): void {
    if (this.#isTurning) return;
    this.#isTurning = true;
    setImmediate(() => {
      this.#isTurning = false;
      const begin = this.#waiting.splice(0, PER_TURN);
      this.#left = PER_TURN - begin.length;
      for (const resolve of begin) resolve();
    });
  }
}

/** Beyond that they are seen anew. */
const MOST_EARLIER_RUNS = 1_000;

/** For how long this worker has seen what earlier runs left under IDs that return, by the monotonic clock. */
export class EarlierRuns {
  readonly #clock: Clock;
  readonly #seen = new Map<string, { readonly firstMs: number; readonly lastMs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * How long it had been there when the server served the action, as far as this worker saw: the server does so after the last time
   * that it was seen. The wall clock may be set back behind the launch.
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
