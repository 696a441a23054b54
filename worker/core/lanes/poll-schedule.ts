import { type Backoff, backoffMs } from "../../../shared/backoff.ts";
import type { Poll, WorkflowSet } from "../ports/source.ts";
import { alwaysAwake, type Wake, type Waking } from "../ports/source.ts";
import type { LaneOptions } from "./lane-options.ts";
import { ServerLoad } from "./server-load.ts";

/** The answer to a poll, or `taken-back` if the lane cancelled the poll because the server held it. */
type PollEnd = Poll | { readonly kind: "taken-back" };

/**
 * How long the server may hold the first polls after a wake-up, in milliseconds. Its view of the cluster may lag behind the
 * worker's. It checks a held poll again only after a second (tink server, `RetryOptions`), but a new poll at once.
 */
const WOKEN_HOLDS_MS = [100, 200, 400] as const;
/**
 * For an agent ID that also has completed Workflows. The server checks a random Workflow: once a second while it holds a
 * poll, and at once for a new poll. After this many polls per Workflow, one lane in a hundred is still not served.
 */
const BLOCKED_HOLD_MS = 100;
const POLLS_PER_WORKFLOW = 5;
/** How long the server may hold a poll that is only a precaution. */
const RARE_HOLD_MS = 2_000;
/** The pause after an idle answer that the server did not hold. */
const IDLE_PAUSE: Backoff = { firstMs: 250, maxMs: 5_000, jitter: 0.5 };
/** An idle answer that took at least this long was held by the server. */
const HELD_MS = 2_000;

/** Decides when one lane polls, and how long the server may hold the poll. */
export class PollSchedule {
  readonly #options: LaneOptions;
  readonly #waking: Waking;
  readonly #serverLoad: ServerLoad;
  /** Number of idle answers in a row that the server did not hold. */
  #quickIdles = 0;
  /** Number of polls in a row that the lane cancelled. */
  #takenBack = 0;
  /**
   * A poll is due at the start, so that an operator sees that the server answers, and after an action, because the next one
   * may be ready.
   */
  #isDue = true;

  constructor(options: LaneOptions) {
    this.#options = options;
    this.#waking = options.waking ?? alwaysAwake;
    this.#serverLoad = options.serverLoad ?? new ServerLoad(options.clock);
  }

  /** The pause after an idle answer. */
  get idlePauseMs(): number {
    return this.#quickIdles === 0 ? 0 : backoffMs(IDLE_PAUSE, this.#quickIdles);
  }

  /** Waits until the lane should poll, and resolves to the reason. Also resolves when `stop` aborts. */
  async next(mustPoll: boolean, stop: AbortSignal): Promise<Wake> {
    const { agentId, observer } = this.#options;
    const now = mustPoll ? "unknown" : this.#waking.now(agentId);
    if (now) return now;
    if (this.#isDue) return "rarely";
    this.#takenBack = 0;
    observer.lane(agentId, "waiting");
    return this.#waking.wait(agentId, stop);
  }

  /** Rejects only when `stop` aborts. */
  async poll(why: Wake, inFlight: WorkflowSet, stop: AbortSignal): Promise<PollEnd> {
    this.#isDue = false;
    const send = () => this.#send(why, inFlight, stop);
    const sent = why === "rarely" ? await this.#serverLoad.probe(send) : await send();
    return sent ?? { kind: "taken-back" };
  }

  async #send(why: Wake, inFlight: WorkflowSet, stop: AbortSignal): Promise<PollEnd> {
    const { agentId, clock, observer, source } = this.#options;
    const sentMs = clock.monotonicMs();
    observer.polling(agentId);
    const poll = await this.#pollWithin(this.#holdOf(why, sentMs), inFlight, stop);
    const durationMs = clock.monotonicMs() - sentMs;
    this.#learn(poll, durationMs);
    this.#takenBack = poll.kind === "taken-back" ? this.#takenBack + 1 : 0;
    if (poll.kind === "action" || poll.kind === "idle") this.#serverLoad.answered(sentMs);
    observer.poll({
      agentId,
      code: poll.kind === "failed" ? poll.code : "OK",
      kind: poll.kind === "taken-back" ? "idle" : poll.kind,
      durationMs,
    });
    if (poll.kind === "action") {
      this.#quickIdles = 0;
      this.#isDue = true;
    } else if (poll.kind === "idle") {
      // A server that serves several workflows at a time holds no poll. A slow answer must not make the lane poll it more often.
      const isHeld = !source.servesSeveral() && durationMs >= HELD_MS;
      this.#quickIdles = isHeld ? 0 : this.#quickIdles + 1;
    }
    return poll;
  }

  /** Returns a function that resolves when the server has held a poll for long enough; undefined if the server decides. */
  #holdOf(why: Wake, sentMs: number): ((signal: AbortSignal) => Promise<void>) | undefined {
    const { clock, source } = this.#options;
    if (source.servesSeveral()) return undefined;
    if (why === "rarely") return (signal) => clock.sleep(RARE_HOLD_MS, signal);
    const ms = this.#blockedHoldMs() ?? (why === "addressed" ? WOKEN_HOLDS_MS[this.#takenBack] : undefined);
    return ms === undefined ? undefined : (signal) => this.#serverLoad.held(sentMs, ms, signal);
  }

  #learn({ kind }: PollEnd, durationMs: number): void {
    const ended = this.#waking.blocking?.(this.#options.agentId) ?? 0;
    if (kind !== "action" || ended === 0) return;
    this.#serverLoad.servedBeside(ended, this.#takenBack === 0 && durationMs < BLOCKED_HOLD_MS);
  }

  /** The hold for an agent ID with completed Workflows. They are known even after an outage, when nothing else is. */
  #blockedHoldMs(): number | undefined {
    const blocking = this.#waking.blocking?.(this.#options.agentId) ?? 0;
    if (this.#serverLoad.passesOverEnded) return undefined;
    const isBlocked = blocking > 0 && this.#takenBack < POLLS_PER_WORKFLOW * (blocking + 1);
    return isBlocked ? BLOCKED_HOLD_MS : undefined;
  }

  async #pollWithin(
    hold: ((signal: AbortSignal) => Promise<void>) | undefined,
    inFlight: WorkflowSet,
    stop: AbortSignal,
  ): Promise<PollEnd> {
    const { agentId, source } = this.#options;
    if (hold === undefined) return source.next(agentId, stop, inFlight);
    const answered = new AbortController();
    const takenBack = new AbortController();
    void hold(answered.signal).then(
      () => takenBack.abort(TAKEN_BACK),
      () => undefined,
    );
    try {
      return await source.next(agentId, AbortSignal.any([stop, takenBack.signal]), inFlight);
    } catch (thrown) {
      if (stop.aborted || !takenBack.signal.aborted) throw thrown;
      return { kind: "taken-back" };
    } finally {
      answered.abort(ANSWERED);
    }
  }
}

/** Created once: aborting without a reason creates an error with a stack, and thousands of lanes may wake up at a time. */
const ANSWERED = new Error("the poll is answered");
const TAKEN_BACK = new Error("the poll is taken back");
