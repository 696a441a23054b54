import type { Clock } from "../../../shared/clock.ts";
import { BmcError } from "../../../shared/contract/bmc-error.ts";
import { TimeoutReached, withTimeout } from "../../../shared/timeout.ts";
import { WorkQueue } from "../../../shared/work-queue.ts";
import type { ActionEvent } from "../../core/action/observer.ts";
import { MachinePaused } from "../../machines/pause.ts";
import { BusyMachines } from "./busy-machines.ts";

export interface SurveyOptions {
  /**
   * Visits a machine. Resolves to the time until the next visit, if one is to follow. Rejects with a `BmcError`, or with the signal's
   * reason.
   */
  readonly visit: (machine: string, signal: AbortSignal) => Promise<number | undefined>;
  /** Called with the number of failures in a row. Returns the time until the next visit, if one is to follow. */
  readonly onFailure: (machine: string, error: BmcError, failures: number) => number | undefined;
  /** Called after each visit, however it ended. */
  readonly onVisited?: (machine: string) => void;
  /** Limits waiting for the machine's lock and the visit. */
  readonly visitWithinMs: number;
  /** Whether a visit that takes longer has failed. Else the machine was in use all the time. */
  readonly failsWhenLate: boolean;
  /** The most machines to visit at a time: nothing waits for them. */
  readonly concurrency: number;
  /** The namespace of a machine's object, whose visits leave slots to other namespaces. */
  readonly namespaceOf: (machine: string) => string | undefined;
  readonly clock: Clock;
}

/** How soon a machine that an action uses, or that is paused, is visited again. */
const BUSY_MS = 60_000;
const YIELDED = new Error("an action needs the machine");

/**
 * Visits machines again and again, a few at a time. A visit never runs beside an action on the machine and never delays one: an action
 * that begins ends it.
 */
export class Survey {
  readonly #options: SurveyOptions;
  readonly #queue: WorkQueue;
  readonly #busy = new BusyMachines();
  readonly #visits = new Map<string, AbortController>();
  readonly #failures = new Map<string, number>();
  /** When each machine is visited next. */
  readonly #dueMs = new Map<string, number>();

  constructor(options: SurveyOptions) {
    this.#options = options;
    this.#queue = new WorkQueue({
      work: (machine, signal) => this.#visit(machine, signal),
      // `#visit` handles its failures itself.
      onFailure: () => undefined,
      clock: options.clock,
      concurrency: options.concurrency,
      tenantOf: options.namespaceOf,
    });
  }

  /** Runs until the signal aborts and no visit is in flight. Never rejects. */
  run(signal: AbortSignal): Promise<void> {
    return this.#queue.run(signal);
  }

  /** Follows the actions of the worker. Returns the machine that an action begins or ceases to use with this event. */
  see(event: ActionEvent): string | undefined {
    const machine = this.#busy.see(event);
    if (machine !== undefined && this.#busy.has(machine)) this.#visits.get(machine)?.abort(YIELDED);
    return machine;
  }

  /** Whether the machine is visited now, or will be. */
  has(machine: string): boolean {
    return this.#queue.has(machine) || this.#queue.isInFlight(machine);
  }

  /** Replaces an earlier time. */
  visitAfter(machine: string, ms: number): void {
    this.#dueMs.set(machine, this.#options.clock.monotonicMs() + ms);
    this.#queue.addAfter(machine, ms);
  }

  /** Brings the next visit forward, if there is one and it is later. */
  visitWithin(machine: string, ms: number): void {
    const dueMs = this.#dueMs.get(machine);
    if (dueMs !== undefined && this.#options.clock.monotonicMs() + ms < dueMs) this.visitAfter(machine, ms);
  }

  /** Counts the failures of the machine anew. */
  reset(machine: string): void {
    this.#failures.delete(machine);
  }

  forget(machine: string): void {
    this.#queue.cancel(machine);
    this.#dueMs.delete(machine);
    this.reset(machine);
  }

  async #visit(machine: string, signal: AbortSignal): Promise<void> {
    const { clock, onVisited, visit, visitWithinMs } = this.#options;
    if (this.#busy.has(machine)) return this.visitAfter(machine, BUSY_MS);
    const stop = new AbortController();
    this.#visits.set(machine, stop);
    let nextMs: number | undefined;
    try {
      const either = AbortSignal.any([signal, stop.signal]);
      nextMs = await withTimeout(visitWithinMs, either, (bound) => visit(machine, bound), clock);
      this.reset(machine);
    } catch (thrown) {
      // A time that was set meanwhile is for a machine that has changed.
      if (signal.aborted || this.#queue.has(machine)) return;
      nextMs = stop.signal.aborted ? BUSY_MS : this.#failed(machine, thrown);
    } finally {
      this.#visits.delete(machine);
      onVisited?.(machine);
    }
    if (nextMs !== undefined && !this.#queue.has(machine)) this.visitAfter(machine, nextMs);
  }

  #failed(machine: string, thrown: unknown): number | undefined {
    const { failsWhenLate, onFailure } = this.#options;
    const isLate = thrown instanceof TimeoutReached;
    if (thrown instanceof MachinePaused || (isLate && !failsWhenLate)) return BUSY_MS;
    const failures = (this.#failures.get(machine) ?? 0) + 1;
    this.#failures.set(machine, failures);
    const error = isLate ? new BmcError("timeout", thrown.message) : BmcError.from(thrown);
    const nextMs = onFailure(machine, error, failures);
    if (nextMs === undefined) this.reset(machine);
    return nextMs;
  }
}
