import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Report } from "./workflow-board.ts";

export type Method = "GetAction" | "GetWorkflowActions" | "GetWorkflowContexts" | "ReportActionStatus";

interface Fault {
  readonly method: Method;
  readonly when: "before" | "after";
  readonly error?: ConnectError;
  readonly delayMs?: number;
  times: number;
}

/** Faults of the next calls. The faults of a method apply in the order in which they were added. */
export class Faults {
  #faults: Fault[] = [];
  #stalePolls = 0;
  readonly #holds = new Set<{ readonly fits: (report: Report) => boolean; readonly taken: () => void }>();

  /** Refuses the next `times` calls at once without reading them. */
  fail(method: Method, error: ConnectError, times = 1): void {
    this.#faults.push({ method, when: "before", error, times });
  }

  /** Accepts the next `times` reports and then fails, so that the worker does not get the answer. */
  loseAcknowledgement(times = 1): void {
    const error = new ConnectError("the acknowledgement is lost", Code.Unavailable);
    this.#faults.push({ method: "ReportActionStatus", when: "after", error, times });
  }

  /** Delays the next `times` calls before they are handled. */
  delay(method: Method, delayMs: number, times = 1): void {
    this.#faults.push({ method, when: "before", delayMs, times });
  }

  /** Answers the next `times` polls of agents with the action that they last received, as an outdated cache would. */
  serveStale(times = 1): void {
    this.#stalePolls += times;
  }

  /** Whether a poll should be answered from the cache. */
  takeStale(): boolean {
    if (this.#stalePolls === 0) return false;
    this.#stalePolls -= 1;
    return true;
  }

  /** Accepts the next matching report and never answers it. Resolves when it has been accepted. */
  holdAcknowledgement(fits: (report: Report) => boolean): Promise<void> {
    return new Promise((taken) => this.#holds.add({ fits, taken }));
  }

  /** If the answer to this report should be held, waits until the caller is gone. */
  async holdIfAsked(report: Report, signal: AbortSignal): Promise<void> {
    const hold = [...this.#holds].find(({ fits }) => fits(report));
    if (hold === undefined) return;
    this.#holds.delete(hold);
    hold.taken();
    if (!signal.aborted) await once(signal, "abort");
  }

  clear(): void {
    this.#faults = [];
    this.#stalePolls = 0;
    this.#holds.clear();
  }

  /** Applies the next fault of a method, if any: waits, throws, or both. */
  async apply(method: Method, when: Fault["when"], signal: AbortSignal): Promise<void> {
    const fault = this.#faults.find((each) => each.method === method && each.when === when && each.times > 0);
    if (fault === undefined) return;
    fault.times -= 1;
    if (fault.delayMs !== undefined) await sleep(fault.delayMs, undefined, { signal });
    if (fault.error !== undefined) throw fault.error;
  }
}
