import { syncBuiltinESMExports } from "node:module";
import timersPromises from "node:timers/promises";
import { dice } from "../support/dice.ts";

/**
 * Time for one thread with its servers and clients: it stands still while anything in the thread is busy and jumps to the
 * next timer when all is at rest, so that minutes of waiting take milliseconds and a run is always the same.
 */

interface VirtualTimer {
  atMs: number;
  order: number;
  readonly delayMs: number;
  readonly isRepeated: boolean;
  readonly run: () => void;
}

/** Packets that were sent over the loopback arrive within so many turns of the event loop. */
const QUIET_TURNS = 3;
/** On a machine with a high load they may take longer, so that a finding is looked at again with as much real time. */
const UNHURRIED_MS = 5;
/** What waits for something outside of this thread that long has no timer of its own. */
const STUCK_MS = 60_000;
/** Resources that may be open while nothing is going on. */
const RESTING =
  /^(Immediate|Timeout|TCPServerWrap|TCPSocketWrap|TLSWrap|UDPWRAP|UDPWrap|PipeWrap|TTYWrap|MessagePort|.*SECURECONTEXT)$/;

const realNow = performance.now.bind(performance);
const nextTurn = timersPromises.setImmediate;
const realSleep = timersPromises.setTimeout;
const startMs = Date.now();
const waiting = new Set<VirtualTimer>();
/** Any number; the same for every run. */
const RUN_SEED = 1;
let pace: Pace = "fast";
let elapsedMs = 0;
let wallStartMs = 0;
let order = 0;

/** Milliseconds that have passed on this thread's clock. */
export const virtualMs = () => elapsedMs;

/** A handle like Node's own. */
class Handle {
  readonly #timer: VirtualTimer;

  constructor(timer: VirtualTimer) {
    this.#timer = timer;
    this.refresh();
  }

  refresh(): this {
    this.#timer.atMs = elapsedMs + this.#timer.delayMs;
    this.#timer.order = order++;
    waiting.add(this.#timer);
    return this;
  }

  close(): this {
    waiting.delete(this.#timer);
    return this;
  }

  ref = () => this;
  unref = () => this;
  hasRef = () => true;

  [Symbol.dispose](): void {
    this.close();
  }
}

function start(
  run: (...given: unknown[]) => void,
  ms: unknown,
  isRepeated: boolean,
  given: unknown[],
): Handle {
  const delayMs = Math.max(1, Number(ms ?? 0) || 0);
  // Longer than Node's own can wait: never.
  return new Handle({ atMs: 0, order: 0, delayMs, isRepeated, run: () => run(...given) });
}

function stop(handle: unknown): void {
  if (handle instanceof Handle) handle.close();
}

const RealDate = Date;
const now = () => startMs + Math.floor(elapsedMs - wallStartMs);

/** Whether time jumps as soon as the thread is at rest, or only after some real time in which nothing has arrived either. */
export type Pace = "fast" | "unhurried";

/** Begins a run like every other: its certificates must not have expired, and the pauses between its attempts are the same. */
export function beginRun(as: Pace): void {
  pace = as;
  wallStartMs = elapsedMs;
  Math.random = dice(RUN_SEED);
}

/** Replaces the thread's clocks and timers. Call it before other modules keep them. */
export function installVirtualTime(): void {
  const after = (run: () => void, ms?: number, ...given: unknown[]) => start(run, ms, false, given);
  const every = (run: () => void, ms?: number, ...given: unknown[]) => start(run, ms, true, given);
  const sleep = (ms?: number, value?: unknown, { signal }: { readonly signal?: AbortSignal } = {}) =>
    new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const handle = after(() => resolve(value), ms);
      signal?.addEventListener("abort", () => {
        handle.close();
        reject(signal.reason);
      });
    });
  performance.now = () => elapsedMs;
  AbortSignal.timeout = (ms) => {
    const controller = new AbortController();
    after(
      () => controller.abort(new DOMException("The operation was aborted due to timeout", "TimeoutError")),
      ms,
    );
    return controller.signal;
  };
  Object.assign(globalThis, {
    Date: new Proxy(RealDate, {
      construct: (target, given: unknown[]) => Reflect.construct(target, given.length > 0 ? given : [now()]),
      get: (target, name) => (name === "now" ? now : Reflect.get(target, name)),
    }),
    setTimeout: after,
    setInterval: every,
    clearTimeout: stop,
    clearInterval: stop,
  });
  timersPromises.setTimeout = sleep as typeof timersPromises.setTimeout;
  syncBuiltinESMExports();
}

export class StuckError extends Error {}

/** Lets time pass until the work has ended. Rejects if nothing is left that would end it. */
export async function passTimeUntil<T>(work: Promise<T>): Promise<T> {
  let hasEnded = false;
  const ended = work.finally(() => {
    hasEnded = true;
  });
  ended.catch(() => undefined);
  let events = -1;
  let quietTurns = 0;
  let busySinceMs = realNow();
  while (!hasEnded) {
    await nextTurn();
    const seen = performance.nodeTiming.uvMetricsInfo.events;
    quietTurns = seen === events ? quietTurns + 1 : 0;
    events = seen;
    if (quietTurns < QUIET_TURNS || !process.getActiveResourcesInfo().every((name) => RESTING.test(name))) {
      if (realNow() - busySinceMs > STUCK_MS) throw new StuckError("the thread is busy without end");
      continue;
    }
    if (pace === "unhurried") {
      await realSleep(UNHURRIED_MS);
      if (performance.nodeTiming.uvMetricsInfo.events !== events) continue;
    }
    quietTurns = 0;
    const next = nextTimer();
    if (next) busySinceMs = realNow();
    else if (realNow() - busySinceMs > STUCK_MS) throw new StuckError("nothing is left that would end it");
    if (!next) continue;
    waiting.delete(next);
    elapsedMs = Math.max(elapsedMs, next.atMs);
    if (next.isRepeated) {
      next.atMs = elapsedMs + next.delayMs;
      next.order = order++;
      waiting.add(next);
    }
    next.run();
  }
  return ended;
}

function nextTimer(): VirtualTimer | undefined {
  let next: VirtualTimer | undefined;
  for (const timer of waiting) {
    if (!next || timer.atMs < next.atMs || (timer.atMs === next.atMs && timer.order < next.order))
      next = timer;
  }
  return next;
}
