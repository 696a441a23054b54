import type { Clock } from "../../../shared/clock.ts";
import { ElapsedTime } from "../../../worker/kubernetes/leader/elapsed-time.ts";
import type { VirtualTime } from "./virtual-time.ts";

/** `stopped` is SIGSTOP: its clocks continue; `suspended` is a sleeping machine: the monotonic one stops. */
export type HostState = "running" | "stopped" | "suspended" | "dead";

const EPOCH_MS = Date.parse("2025-06-01T00:00:00Z");

/** Where a replica runs: a clock that goes a little wrong, and times when nothing runs at all. */
export class Host {
  readonly #time: VirtualTime;
  /** Own milliseconds in one that is true. */
  readonly #rate: number;
  readonly #backlog: (() => void)[] = [];
  #state: HostState = "running";
  #suspendedMs = 0;
  #sinceMs = 0;
  #setMs = 0;
  readonly clock: Clock;
  readonly certainTime: ElapsedTime;

  constructor(time: VirtualTime, rate = 1) {
    this.#time = time;
    this.#rate = rate;
    const upMs = () => time.nowMs * rate;
    this.clock = {
      now: () => EPOCH_MS + upMs() + this.#setMs,
      monotonicMs: () => upMs() - this.#stoodStillMs() * rate,
      sleep: (ms, signal) => this.#sleep(ms, signal),
    };
    this.certainTime = new ElapsedTime(this.clock, upMs);
  }

  get state(): HostState {
    return this.#state;
  }

  /** Runs it now, or when the host continues. */
  run(work: () => void): void {
    if (this.#state === "running") work();
    else if (this.#state !== "dead") this.#backlog.push(work);
  }

  pause(kind: "stopped" | "suspended"): void {
    if (this.#state !== "running") return;
    this.#state = kind;
    this.#sinceMs = this.#time.nowMs;
  }

  goOn(): void {
    if (this.#state === "running" || this.#state === "dead") return;
    this.#suspendedMs = this.#stoodStillMs();
    this.#state = "running";
    // One after the other, as an event loop does: what one of them does is done before the next.
    const next = () => {
      if (this.#state !== "running") return;
      this.#backlog.shift()?.();
      if (this.#backlog.length > 0) this.#time.after(0, next);
    };
    next();
  }

  /** Sets its wall clock forward; back with a negative number. */
  setClock(ms: number): void {
    this.#setMs += ms;
  }

  die(): void {
    this.#state = "dead";
    this.#backlog.length = 0;
  }

  #stoodStillMs(): number {
    const nowMs = this.#state === "suspended" ? this.#time.nowMs - this.#sinceMs : 0;
    return this.#suspendedMs + nowMs;
  }

  #sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      const onAbort = () => {
        cancel();
        reject(signal?.reason);
      };
      const cancel = this.#time.after(ms / this.#rate, () =>
        this.run(() => {
          signal?.removeEventListener("abort", onAbort);
          resolve();
        }),
      );
      signal?.addEventListener("abort", onAbort, { once: true });
    });
  }
}
