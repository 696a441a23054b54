import type { Duplex } from "node:stream";
import { type Clock, systemClock } from "../../../shared/clock.ts";
import { waitUntilDeadline } from "../../../shared/deadline.ts";
import { defined } from "../../../shared/defined.ts";
import { withTimeout } from "../../../shared/timeout.ts";
import { FLOOD_GRACE_MS } from "../log-stream.ts";
import type { OutputOptions } from "../runtime.ts";
import type { Engine } from "./engine.ts";
import { EngineError } from "./engine-error.ts";
import type { ContainerDetails } from "./engine-schema.ts";
import { ContainerOutput } from "./output.ts";

const RETRY_MS = [200, 500, 1_000, 2_000, 5_000] as const;
const DRAIN_MS = 5_000;
const FLOOD_DRAIN_MS = 500;
/** Lines that are then read from the end of the engine's log. */
const TAIL_LINES = 10;
const KILLED_WAIT_MS = 10_000;
const CLEAN_UP_MS = 120_000;

export interface FollowOptions extends OutputOptions {
  readonly engine: Engine;
  readonly id: string;
  /** The connection from before the start; without it the engine's log is read. */
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
 * While the engine is away, retries until the timeout. Rejects with an `EngineError` if the container's end is
 * unknown, and with the reason of `detached`.
 */
export async function followContainer(options: FollowOptions, signal: AbortSignal) {
  const { engine, id, attachment, clock = systemClock, stopGraceMs } = options;
  const output = new ContainerOutput(options);
  const reading = new AbortController();
  const live = attachment
    ? output.readAttachment(attachment)
    : output.readLogs(engine, id, { follow: true }, reading.signal).catch(() => undefined);
  try {
    const stopReason = await waitUntilDeadline(options.timeoutMs, signal, (bound) =>
      untilEnded(engine, id, clock, AbortSignal.any([bound, options.detached])),
    );
    const { isFlooding, pace } = output.log;
    const graceMs = isFlooding ? Math.min(stopGraceMs, FLOOD_GRACE_MS) : stopGraceMs;
    const cleanUp = AbortSignal.timeout(graceMs + CLEAN_UP_MS);
    pace.skipPauses();
    if (stopReason) await stop(engine, id, graceMs, clock, cleanUp);
    const drainMs = isFlooding ? FLOOD_DRAIN_MS : DRAIN_MS;
    const isWhole = await isDone(withTimeout(drainMs, cleanUp, () => live));
    reading.abort();
    attachment?.destroy();
    await live;
    // If the log driver cannot be read, the live output must do.
    if (!output.log.hasResult && !(isFlooding && isWhole)) {
      const selection = isFlooding ? { follow: false, tail: TAIL_LINES } : { follow: false };
      await isDone(withTimeout(drainMs, cleanUp, (bound) => output.readLogs(engine, id, selection, bound)));
    }
    const details = await endedDetails(engine, id, cleanUp);
    return { ...defined({ stopReason }), written: output.log.end(), details };
  } finally {
    reading.abort();
    attachment?.destroy();
  }
}

/** Survives restarts of the engine. */
async function untilEnded(engine: Engine, id: string, clock: Clock, signal: AbortSignal): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    try {
      await engine.waitContainer(id, signal);
      return;
    } catch (thrown) {
      signal.throwIfAborted();
      if (thrown instanceof EngineError && thrown.status === 404) return;
    }
    await clock.sleep(RETRY_MS[Math.min(attempt, RETRY_MS.length - 1)] ?? 0, signal);
  }
}

async function stop(engine: Engine, id: string, graceMs: number, clock: Clock, signal: AbortSignal) {
  try {
    await engine.stopContainer(id, graceMs, signal);
  } catch {
    // Engines call it an error if the container has ended meanwhile; its state decides.
    await engine.killContainer(id, signal).catch(() => undefined);
  }
  await isDone(withTimeout(KILLED_WAIT_MS, signal, (bound) => untilEnded(engine, id, clock, bound)));
}

/** Whether the work ends in its time. */
function isDone(work: Promise<void>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  );
}

async function endedDetails(engine: Engine, id: string, signal: AbortSignal): Promise<ContainerDetails> {
  const details = await engine.inspectContainer(id, signal);
  if (!details)
    throw new EngineError("internal", "the container was removed by someone else", { status: 404 });
  if (details.State.Status === "exited" || details.State.Status === "dead") return details;
  throw new EngineError("internal", `the container could not be stopped: it is ${details.State.Status}`);
}
