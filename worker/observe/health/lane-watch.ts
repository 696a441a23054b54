import type { Clock } from "../../../shared/clock.ts";
import { formatSeconds } from "../../../shared/duration.ts";
import type { LaneState, Observer, WorkerFacts } from "../../action/observer.ts";
import type { Finding } from "./check.ts";

export interface LaneWatchOptions {
  readonly clock: Clock;
  /** How long a lane may take from one step to the next while it is at no action: more than its longest wait. */
  readonly stillMs: number;
  /** How long polls may fail without one that is answered before the server counts as away: it may be restarted meanwhile. */
  readonly failingMs: number;
}

interface Lane {
  readonly state: LaneState;
  /** It has asked, and has no answer yet. */
  readonly asking: boolean;
  /** When it last made a step. */
  readonly movedMs: number;
}

/** A lane in these makes no step by itself: its action may take long, or no workflow come. */
const RESTING: ReadonlySet<LaneState> = new Set(["busy", "waiting"]);
/** A server that is away, or a proxy in its place, refuses faster than that. */
const HELD_MS = 1_000;

/** How the lanes are, and by that the tink server. */
export class LaneWatch {
  readonly #options: LaneWatchOptions;
  readonly #lanes = new Map<string, Lane>();
  #hadLanes = false;
  #answeredMs: number | undefined;
  /** The first failure since the last answer, and the code of the last one. */
  #failing: { readonly sinceMs: number; readonly code: string } | undefined;

  constructor(options: LaneWatchOptions) {
    this.#options = options;
  }

  readonly observer: Partial<Observer> = {
    lane: (agentId, state) => {
      this.#hadLanes = true;
      if (state === undefined) this.#lanes.delete(agentId);
      else this.#lanes.set(agentId, { state, asking: false, movedMs: this.#nowMs() });
    },
    polling: (agentId) => {
      const lane = this.#lanes.get(agentId);
      if (lane) this.#lanes.set(agentId, { ...lane, asking: true, movedMs: this.#nowMs() });
    },
    poll: ({ agentId, kind, code }) => {
      const nowMs = this.#nowMs();
      const lane = this.#lanes.get(agentId);
      if (lane) this.#lanes.set(agentId, { ...lane, asking: false, movedMs: nowMs });
      if (kind === "failed") this.#failing = { sinceMs: this.#failing?.sinceMs ?? nowMs, code };
      else {
        this.#failing = undefined;
        this.#answeredMs = nowMs;
      }
    },
  };

  /** Whether every lane goes on. One that is at an action may take as long as the action and its machine. */
  lanes(): Finding {
    const nowMs = this.#nowMs();
    const still = [...this.#lanes].filter(
      ([, { state, movedMs }]) => !RESTING.has(state) && nowMs - movedMs > this.#options.stillMs,
    );
    const [first] = still;
    if (first === undefined) return { ok: true, reason: `${this.#lanes.size} lanes are healthy` };
    const [agentId, { state, movedMs }] = first;
    const others = still.length === 1 ? "" : `, and ${still.length - 1} more`;
    return {
      ok: false,
      reason: `lane ${agentId} has been ${state} without a step for ${formatSeconds(nowMs - movedMs)}${others}`,
    };
  }

  /**
   * Whether the tink server answers. While there is nothing to do it holds polls for up to a minute, so that a poll that is
   * held on an open connection counts as well as an answer; and one lane that is refused says nothing of the server.
   */
  server({ connected }: Pick<WorkerFacts, "connected">): Finding {
    if (this.#lanes.size === 0) {
      return { ok: false, reason: this.#hadLanes ? "no lane polls any more" : "no lane polls yet" };
    }
    const nowMs = this.#nowMs();
    const answered =
      this.#answeredMs === undefined
        ? "never answered"
        : `last answered ${formatSeconds(nowMs - this.#answeredMs)} ago`;
    if (this.#holds(nowMs) && connected()) return { ok: true, reason: `holds a poll, ${answered}` };
    if (this.#failing === undefined) return { ok: this.#answeredMs !== undefined, reason: answered };
    const { sinceMs, code } = this.#failing;
    const failingMs = nowMs - sinceMs;
    return {
      ok: this.#answeredMs !== undefined && failingMs <= this.#options.failingMs,
      reason: `polls have failed for ${formatSeconds(failingMs)} (${code}), ${answered}`,
    };
  }

  #holds(nowMs: number): boolean {
    return [...this.#lanes.values()].some(({ asking, movedMs }) => asking && nowMs - movedMs >= HELD_MS);
  }

  #nowMs(): number {
    return this.#options.clock.monotonicMs();
  }
}
