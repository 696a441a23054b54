import type { Duplex } from "node:stream";
import { type Clock, systemClock } from "../../../shared/clock.ts";
import { withTimeout } from "../../../shared/timeout.ts";
import { waitUntilDeadline } from "../deadline.ts";
import type { WrittenOutput } from "../log-stream.ts";
import type { StopReason } from "../outcome.ts";
import type { LogLine } from "../runtime.ts";
import { ContainerOutput } from "./container-output.ts";
import type { Engine } from "./engine.ts";
import { EngineError } from "./engine-error.ts";
import type { ContainerDetails } from "./engine-schema.ts";

const WAIT_AGAIN_MS = [200, 500, 1_000, 2_000, 5_000] as const;
/** How long the rest of the output may take to arrive once the container has ended. */
const DRAIN_MS = 5_000;
/** How long a killed container may take to be gone. */
const KILLED_WAIT_MS = 10_000;
const CLEAN_UP_MS = 120_000;

export interface FollowOptions {
  readonly engine: Engine;
  readonly id: string;
  /** The connection made before the start; without it the engine's log is followed. */
  readonly attachment?: Duplex;
  readonly timeoutMs: number;
  /** Between SIGTERM and SIGKILL. */
  readonly stopGraceMs: number;
  readonly onLog: (line: LogLine) => void;
  /** Aborts when the worker lets go of the container, which then runs on to be adopted. */
  readonly letGo: AbortSignal;
  readonly clock?: Clock;
}

export interface FollowedContainer {
  readonly stopReason?: StopReason;
  readonly written: WrittenOutput;
  readonly details: ContainerDetails;
}

/**
 * Follows a started container to its end, stops it when its time is over or `signal` aborts, and gathers what
 * it wrote. An engine that goes away meanwhile is asked again until the time is over.
 * Rejects with an `EngineError` when the container's end cannot be known, and with the reason of `letGo`.
 */
export async function followContainer(
  options: FollowOptions,
  signal: AbortSignal,
): Promise<FollowedContainer> {
  const { engine, id, attachment, clock = systemClock } = options;
  const output = new ContainerOutput(options.onLog);
  const reading = new AbortController();
  const live = attachment
    ? output.readAttachment(attachment)
    : output.readLogs(engine, id, true, reading.signal).catch(() => undefined);
  try {
    const stopReason = await waitUntilDeadline(options.timeoutMs, signal, (bound) =>
      untilEnded(engine, id, clock, AbortSignal.any([bound, options.letGo])),
    );
    const cleanUp = AbortSignal.timeout(options.stopGraceMs + CLEAN_UP_MS);
    if (stopReason) await stop(options, clock, cleanUp);
    await withTimeout(DRAIN_MS, cleanUp, () => live).catch(() => undefined);
    reading.abort();
    attachment?.destroy();
    await live;
    // An engine whose log driver cannot be read has nothing to add; what came live must do.
    if (!output.complete) await output.readLogs(engine, id, false, cleanUp).catch(() => undefined);
    const details = await endedDetails(engine, id, cleanUp);
    return { ...(stopReason === undefined ? {} : { stopReason }), written: output.end(), details };
  } finally {
    reading.abort();
    attachment?.destroy();
  }
}

/** Waits as long as `signal` allows, through restarts of the engine. */
async function untilEnded(engine: Engine, id: string, clock: Clock, signal: AbortSignal): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    try {
      await engine.waitContainer(id, signal);
      return;
    } catch (thrown) {
      signal.throwIfAborted();
      if (thrown instanceof EngineError && thrown.status === 404) return;
    }
    await clock.sleep(WAIT_AGAIN_MS[Math.min(attempt, WAIT_AGAIN_MS.length - 1)] ?? 0, signal);
  }
}

async function stop({ engine, id, stopGraceMs }: FollowOptions, clock: Clock, signal: AbortSignal) {
  try {
    await engine.stopContainer(id, stopGraceMs, signal);
  } catch {
    // It may have ended by itself meanwhile, which an engine calls an error: its state decides.
    await engine.killContainer(id, signal).catch(() => undefined);
  }
  await withTimeout(KILLED_WAIT_MS, signal, (bound) => untilEnded(engine, id, clock, bound)).catch(
    () => undefined,
  );
}

async function endedDetails(engine: Engine, id: string, signal: AbortSignal): Promise<ContainerDetails> {
  const details = await engine.inspectContainer(id, signal);
  if (!details)
    throw new EngineError("internal", "the container was removed by someone else", { status: 404 });
  if (details.State.Status === "exited" || details.State.Status === "dead") return details;
  throw new EngineError("internal", `the container could not be stopped: it is ${details.State.Status}`);
}
