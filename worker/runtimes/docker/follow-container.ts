import type { Duplex } from "node:stream";
import { type Clock, systemClock } from "../../../shared/clock.ts";
import { waitUntilDeadline } from "../../../shared/deadline.ts";
import { withTimeout } from "../../../shared/timeout.ts";
import type { OutputOptions } from "../../core/ports/runtime.ts";
import { FLOOD_GRACE_MS } from "../log-stream.ts";
import { ContainerOutput } from "./container-output.ts";
import type { Engine } from "./engine.ts";
import { EngineError } from "./engine-error.ts";
import type { ContainerDetails } from "./engine-schema.ts";

const RETRY_MS = [200, 500, 1_000, 2_000, 5_000] as const;
const DRAIN_MS = 5_000;
const FLOOD_DRAIN_MS = 500;
/** Number of lines to read from the end of the engine's log for a flooding action. */
const TAIL_LINES = 10;
const KILLED_WAIT_MS = 10_000;
const CLEAN_UP_MS = 120_000;

export interface FollowOptions extends OutputOptions {
  readonly engine: Engine;
  readonly id: string;
  /** The connection that was opened before the start. Without it, the engine's log is read. */
  readonly attachment?: Duplex;
  readonly timeoutMs: number;
  /** Between SIGTERM and SIGKILL. */
  readonly stopGraceMs: number;
  /** Aborts when the worker detaches from the container, which keeps running. */
  readonly detached: AbortSignal;
  readonly clock?: Clock;
}

/**
 * Follows a started container to its end, stops it at its timeout or when `signal` aborts, and collects its output.
 * While the engine is away, retries until the timeout. `details` is undefined if someone else removed the container. Rejects
 * with an `EngineError` if the container's end is unknown, and with the reason of `detached`.
 */
export async function followContainer(options: FollowOptions, signal: AbortSignal) {
  const { engine, id, attachment, timeoutMs, clock = systemClock, stopGraceMs } = options;
  const output = new ContainerOutput(options);
  const reading = new AbortController();
  const live = attachment
    ? output.readAttachment(attachment)
    : output.readLogs(engine, id, { follow: true }, reading.signal).catch(() => undefined);
  const deadlineMs = clock.monotonicMs() + timeoutMs;
  try {
    const stopReason = await waitUntilDeadline(timeoutMs, signal, (bound) =>
      untilEnded(engine, id, clock, AbortSignal.any([bound, options.detached])),
    );
    const { isFlooding, throttle } = output.log;
    const graceMs = isFlooding ? Math.min(stopGraceMs, FLOOD_GRACE_MS) : stopGraceMs;
    const leftMs = stopReason ? 0 : Math.max(0, deadlineMs - clock.monotonicMs());
    const cleanUp = AbortSignal.any([
      AbortSignal.timeout(Math.ceil(leftMs) + graceMs + CLEAN_UP_MS),
      options.detached,
    ]);
    throttle.skipPauses();
    if (stopReason) await stop(engine, id, graceMs, clock, cleanUp);
    const drainMs = isFlooding ? FLOOD_DRAIN_MS : DRAIN_MS;
    const isWhole = await isDone(withTimeout(drainMs, cleanUp, () => live));
    reading.abort();
    attachment?.destroy();
    await live;
    const ending = { engine, id, clock, graceMs, isStopped: stopReason !== undefined };
    const details = await endedDetails(ending, cleanUp);
    // If the log driver cannot be read, the live output must be enough.
    if (details && !output.log.hasResult && !(isFlooding && isWhole)) {
      const selection = isFlooding ? { follow: false, tail: TAIL_LINES } : { follow: false };
      await whileAway(clock, cleanUp, () =>
        withTimeout(drainMs, cleanUp, (bound) => output.readLogs(engine, id, selection, bound)),
      ).catch(() => undefined);
    }
    return { stopReason, written: output.log.end(), details };
  } finally {
    reading.abort();
    attachment?.destroy();
  }
}

/** Repeats a call until the engine answers it. */
async function whileAway<T>(clock: Clock, signal: AbortSignal, call: () => Promise<T>): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await call();
    } catch (thrown) {
      if (!(thrown instanceof EngineError && thrown.isAway)) throw thrown;
    }
    await pause(attempt, clock, signal);
  }
}

/** Waits for the container's end, even through restarts of the engine. */
async function untilEnded(engine: Engine, id: string, clock: Clock, signal: AbortSignal): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    try {
      await engine.waitContainer(id, signal);
      return;
    } catch (thrown) {
      signal.throwIfAborted();
      if (thrown instanceof EngineError && thrown.status === 404) return;
    }
    await pause(attempt, clock, signal);
  }
}

async function stop(engine: Engine, id: string, graceMs: number, clock: Clock, signal: AbortSignal) {
  try {
    await engine.stopContainer(id, graceMs, signal);
  } catch {
    // Engines report an error if the container has ended meanwhile; its state decides.
    await engine.killContainer(id, signal).catch(() => undefined);
  }
  await isDone(withTimeout(KILLED_WAIT_MS, signal, (bound) => untilEnded(engine, id, clock, bound)));
}

/** Whether the work ends within its time. */
function isDone(work: Promise<void>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  );
}

interface Ending {
  readonly engine: Engine;
  readonly id: string;
  readonly clock: Clock;
  readonly graceMs: number;
  /** Whether the container was told to stop. */
  readonly isStopped: boolean;
}

/** The engine has not yet recorded the end. Podman shows `stopped` before `exited`. */
const ENDING = new Set(["stopping", "stopped", "removing"]);
const ENDING_MS = 10_000;

/**
 * The state of an ended container; undefined if someone else removed it. Waits for an engine that is away, because it keeps
 * the exit code, and then stops a container that could not be stopped before.
 */
async function endedDetails(
  { engine, id, clock, graceMs, isStopped }: Ending,
  signal: AbortSignal,
): Promise<ContainerDetails | undefined> {
  let isTold = isStopped;
  let endingSinceMs: number | undefined;
  for (let attempt = 0; ; attempt++) {
    let wasAway = false;
    const details = await whileAway(clock, signal, async () => {
      try {
        return await engine.inspectContainer(id, signal);
      } catch (thrown) {
        wasAway = true;
        throw thrown;
      }
    }).catch((thrown: unknown) => {
      // The reason of `detached` is passed on, but not that of the time limit.
      throw signal.aborted && !(thrown instanceof EngineError) ? endUnknown(thrown) : thrown;
    });
    if (!details || hasEnded(details)) return details;
    const { Status: status } = details.State;
    if (ENDING.has(status)) {
      endingSinceMs ??= clock.monotonicMs();
      if (clock.monotonicMs() - endingSinceMs > ENDING_MS) {
        throw new EngineError("internal", `the container did not end: it is ${status}`);
      }
      await pause(attempt, clock, signal);
    } else if (isTold && wasAway) {
      // It was told to stop while the engine was away.
      await stop(engine, id, graceMs, clock, signal);
      isTold = false;
    } else {
      throw new EngineError("internal", `the container could not be stopped: it is ${status}`);
    }
  }
}

function endUnknown(cause: unknown): EngineError {
  const text = "the container engine did not come back, so the action's end is unknown";
  return new EngineError("unreachable", text, { cause });
}

export function hasEnded({ State: { Status: status } }: ContainerDetails): boolean {
  return status === "exited" || status === "dead";
}

/** Pauses between attempts while the engine is away. */
export async function pause(attempt: number, clock: Clock, signal: AbortSignal): Promise<void> {
  await clock.sleep(RETRY_MS[Math.min(attempt, RETRY_MS.length - 1)] ?? 0, signal);
}
