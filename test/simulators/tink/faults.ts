import { setTimeout as sleep } from "node:timers/promises";
import { Code, ConnectError } from "@connectrpc/connect";

export type Method = "GetAction" | "ReportActionStatus";

interface Fault {
  readonly method: Method;
  readonly when: "before" | "after";
  readonly error?: ConnectError;
  readonly delayMs?: number;
  times: number;
}

/** What is to go wrong with the next calls. Faults of a method apply in the order they were asked for. */
export class Faults {
  #faults: Fault[] = [];

  /** Refuses the next `times` calls at once, without looking at them. */
  fail(method: Method, error: ConnectError, times = 1): void {
    this.#faults.push({ method, when: "before", error, times });
  }

  /** Takes the next `times` reports and then fails, so that the worker does not hear of it. */
  loseAcknowledgement(times = 1): void {
    const error = new ConnectError("the acknowledgement is lost", Code.Unavailable);
    this.#faults.push({ method: "ReportActionStatus", when: "after", error, times });
  }

  /** Lets the next `times` calls wait before they are looked at. */
  delay(method: Method, delayMs: number, times = 1): void {
    this.#faults.push({ method, when: "before", delayMs, times });
  }

  clear(): void {
    this.#faults = [];
  }

  /** Applies the next fault of a method, if there is one: waits, throws, or both. */
  async apply(method: Method, when: Fault["when"], signal: AbortSignal): Promise<void> {
    const fault = this.#faults.find((each) => each.method === method && each.when === when && each.times > 0);
    if (fault === undefined) return;
    fault.times -= 1;
    if (fault.delayMs !== undefined) await sleep(fault.delayMs, undefined, { signal });
    if (fault.error !== undefined) throw fault.error;
  }
}
