import { type Backoff, backoffMs } from "../../shared/backoff.ts";
import type { Clock } from "../../shared/clock.ts";
import { logOutage } from "../../shared/log-outage.ts";
import type { Logger } from "../../shared/logger.ts";
import { textOf } from "../../shared/text-of.ts";
import type { Action } from "../action/action.ts";
import { fieldsOf } from "../action/action-status.ts";
import type { Observer } from "../action/observer.ts";
import { alwaysAwake, type Wake, type Waking } from "../action/waking.ts";
import type { ActionSource, Outage, Poll, WorkflowsInFlight } from "../source/source.ts";
import { PollPace } from "./poll-pace.ts";

export interface LaneOptions {
  readonly agentId: string;
  readonly source: ActionSource;
  /** Runs an action and reports its end. Resolves to whether it was run: what was not is served again. */
  readonly execute: (action: Action) => Promise<boolean>;
  readonly clock: Clock;
  readonly log: Logger;
  /** The longest wait between two polls while the server does not answer. */
  readonly maxBackoffMs: number;
  readonly observer: Pick<Observer, "lane" | "asking" | "poll">;
  readonly waking?: Waking;
  /** Shared by all lanes of a server; without it the lane is the server's only one. */
  readonly pace?: PollPace;
}

/**
 * How long the server may hold the first polls after a wake-up, in milliseconds: its own view of the cluster may be behind
 * the worker's, and then it looks again only after a second (tink server, `RetryOptions`), while it looks at a new poll at
 * once.
 */
const WOKEN_HOLDS_MS = [100, 200, 400] as const;
/**
 * Where Workflows that are over are the agent ID's as well, the server looks at any of them, once a second in a poll that it
 * holds, and at once in a new poll. It may be held for so long, and is taken back so often for each of these Workflows: then
 * one of a hundred lanes has still not been served.
 */
const BLOCKED_HOLD_MS = 100;
const POLLS_PER_WORKFLOW = 5;
/** For a question that is asked to be on the safe side. */
const RARE_HOLD_MS = 2_000;

/** A server that holds polls is asked again at once; one that answers at once is not asked all the time. */
const IDLE_PAUSE: Backoff = { firstMs: 250, maxMs: 5_000, jitter: 0.5 };
/** An idle answer that took this long was held by the server. */
const HELD_MS = 2_000;
/** What was served and could not be run would be served again at once. */
const NOT_RUN_PAUSE: Backoff = { firstMs: 250, maxMs: 30_000, jitter: 0.5 };

/**
 * One agent ID's loop: wait for an action, run it, report it. Where the server serves several workflows to one agent ID, the
 * actions of different ones run beside each other. Ends when `stop` aborts, after the actions under way; a lost
 * connection never ends it.
 */
export async function runLane(options: LaneOptions, stop: AbortSignal): Promise<void> {
  const { agentId, source, clock, log, observer, waking = alwaysAwake } = options;
  const pace = options.pace ?? new PollPace(clock);
  const failing: Backoff = { firstMs: 500, maxMs: options.maxBackoffMs, jitter: 0.5 };
  /** By workflow; they never reject. */
  const inFlight = new Map<string, Promise<void>>();
  /** How many times in a row an action of each workflow was not run. */
  const notRun = new Map<string, number>();
  let failures = 0;
  /** The log has a warning about this lane's own failures. */
  let isWarned = false;
  /** The server has not answered this lane since an outage. */
  let isAfterOutage = false;
  let quickIdles = 0;
  /** Questions in a row that were given up because the server held them. */
  let givenUp = 0;
  /** At the start, so that an operator sees that the server answers; after an action, because the next one may follow. */
  let worthAsking = true;

  function stumble(thrown: unknown, action?: Action): void {
    const about = action ? fieldsOf(action) : { agentId };
    log.error({ ...about, error: textOf(thrown) }, "lane failed, restarting");
  }

  /** An action from its start to the time when its workflow may be served again. Never rejects. */
  async function serve(action: Action): Promise<void> {
    const { workflowId } = action;
    let ran = false;
    try {
      ran = await options.execute(action);
    } catch (thrown) {
      if (!stop.aborted) stumble(thrown, action);
    }
    if (ran || stop.aborted) {
      notRun.delete(workflowId);
      return;
    }
    const times = (notRun.get(workflowId) ?? 0) + 1;
    notRun.set(workflowId, times);
    await clock.sleep(backoffMs(NOT_RUN_PAUSE, times), stop).catch(() => undefined);
  }

  /** An action that ends makes the next one of its workflow ready, so that the wait ends with it. */
  async function pauseIdle(ms: number): Promise<void> {
    const woken = new AbortController();
    const wake = () => woken.abort();
    stop.addEventListener("abort", wake, { once: true });
    try {
      const slept = clock.sleep(ms, woken.signal).catch(() => undefined);
      await Promise.race([slept, ...inFlight.values()]);
    } finally {
      stop.removeEventListener("abort", wake);
      wake();
    }
  }

  /** Waits until the server is available. A lane that waits makes a step now and then, as health expects of it. */
  async function untilOver(outage: Outage): Promise<void> {
    while (!(await outage.over(options.maxBackoffMs, stop))) observer.lane(agentId, "failing");
  }

  async function wake(): Promise<Wake> {
    const mustAsk = inFlight.size > 0 || failures > 0 || isAfterOutage;
    const now = mustAsk ? "unknown" : waking.now(agentId);
    if (now) return now;
    if (worthAsking) return "rarely";
    givenUp = 0;
    observer.lane(agentId, "waiting");
    return waking.wait(agentId, stop);
  }

  /** Resolves when the server has held a poll for long enough; undefined leaves that to the server. */
  function heldOf(why: Wake, askedMs: number): ((signal: AbortSignal) => Promise<void>) | undefined {
    if (source.servesSeveral()) return undefined;
    if (why === "rarely") return (signal) => clock.sleep(RARE_HOLD_MS, signal);
    const ms = why === "addressed" ? wokenHoldMs() : undefined;
    return ms === undefined ? undefined : (signal) => pace.held(askedMs, ms, signal);
  }

  function wokenHoldMs(): number | undefined {
    const blocking = waking.blocking?.(agentId) ?? 0;
    if (blocking > 0 && givenUp < POLLS_PER_WORKFLOW * (blocking + 1)) return BLOCKED_HOLD_MS;
    return WOKEN_HOLDS_MS[givenUp];
  }

  while (!stop.aborted) {
    try {
      const why = await wake();
      if (stop.aborted) break;
      if (failures === 0) observer.lane(agentId, inFlight.size > 0 ? "busy" : "polling");
      const askedMs = clock.monotonicMs();
      observer.asking(agentId);
      worthAsking = false;
      const poll = await askWithin(source, { agentId, held: heldOf(why, askedMs), inFlight }, stop);
      givenUp = poll.kind === "held" ? givenUp + 1 : 0;
      if (poll.kind === "action" || poll.kind === "idle") pace.answered(askedMs);
      observer.poll({
        agentId,
        code: poll.kind === "failed" ? poll.code : "OK",
        kind: poll.kind === "held" ? "idle" : poll.kind,
        durationMs: clock.monotonicMs() - askedMs,
      });
      if (poll.kind === "failed") {
        observer.lane(agentId, "failing");
        if (poll.outage) {
          isAfterOutage = true;
          await untilOver(poll.outage);
          continue;
        }
        failures += 1;
        const waitMs = backoffMs(failing, failures);
        logOutage(
          log,
          !isWarned,
          { agentId, code: poll.code, reason: poll.reason, waitMs },
          "poll failed, retrying",
        );
        isWarned = true;

        await clock.sleep(waitMs, stop);
        continue;
      }
      if (isWarned) log.info({ agentId, failures }, "polling recovered");
      isWarned = false;
      isAfterOutage = false;
      failures = 0;
      if (poll.kind === "action") {
        quickIdles = 0;
        worthAsking = true;
        waking.served(poll.action, why);
        observer.lane(agentId, "busy");
        const { workflowId } = poll.action;
        const served = serve(poll.action);
        if (!source.servesSeveral()) await served;
        else
          inFlight.set(
            workflowId,
            served.finally(() => inFlight.delete(workflowId)),
          );
        continue;
      }
      if (inFlight.size === 0) notRun.clear();
      if (poll.kind === "held") continue;
      // Where several workflows are served at a time no poll is held: a server that is slow there is not asked more often.
      const held = !source.servesSeveral() && clock.monotonicMs() - askedMs >= HELD_MS;
      quickIdles = held ? 0 : quickIdles + 1;
      if (quickIdles > 0) await pauseIdle(backoffMs(IDLE_PAUSE, quickIdles));
    } catch (thrown) {
      if (stop.aborted) break;
      failures += 1;
      stumble(thrown);
      await clock.sleep(backoffMs(failing, failures), stop).catch(() => undefined);
    }
  }
  await Promise.all(inFlight.values());
  observer.lane(agentId, undefined);
}

/** Made once: an abort without a reason makes an error with its stack each time, and lanes are woken by the thousand. */
const OVER = new Error("the wait is over");
const TAKEN_BACK = new Error("the poll is taken back");

/** The server was still holding the question when it was taken back. */
interface Held {
  readonly kind: "held";
}

/** Rejects only when `stop` aborts. */
async function askWithin(
  source: ActionSource,
  asking: {
    readonly agentId: string;
    readonly held: ((signal: AbortSignal) => Promise<void>) | undefined;
    readonly inFlight: WorkflowsInFlight;
  },
  stop: AbortSignal,
): Promise<Poll | Held> {
  const { agentId, held, inFlight } = asking;
  if (held === undefined) return source.next(agentId, stop, inFlight);
  const answered = new AbortController();
  const over = new AbortController();
  void held(answered.signal).then(
    () => over.abort(TAKEN_BACK),
    () => undefined,
  );
  try {
    return await source.next(agentId, AbortSignal.any([stop, over.signal]), inFlight);
  } catch (thrown) {
    if (stop.aborted || !over.signal.aborted) throw thrown;
    return { kind: "held" };
  } finally {
    answered.abort(OVER);
  }
}
