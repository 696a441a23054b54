import type { Clock } from "../../../shared/clock.ts";
import { formatSeconds } from "../../../shared/duration.ts";
import type { LaneState, Observer } from "../../core/action/observer.ts";
import type { HealthFinding } from "../shared/facts.ts";
import { INSIDE_AGENT_IDS } from "../shared/source-agent-ids.ts";

export interface LaneWatchOptions {
  readonly clock: Clock;
  /** The longest time between two steps of a lane without an action. */
  readonly stalledMs: number;
  /** How long polls may fail before the server counts as unavailable: it may be restarting. */
  readonly failingMs: number;
}

interface Lane {
  readonly state: LaneState;
  /** Whether the lane has sent a poll that is not yet answered. */
  readonly asking: boolean;
  /** The time of the lane's last step. */
  readonly steppedMs: number;
}

/** States in which a lane makes no steps: its action may take long, or it waits for a workflow. */
const RESTING: ReadonlySet<LaneState> = new Set(["busy", "waiting"]);
/** An unavailable server, or a proxy in front of it, rejects a poll faster than this. */
const HELD_MS = 1_000;

/** The state of the lanes and, through their polls, of the tink server. */
export class LaneWatch {
  readonly #options: LaneWatchOptions;
  readonly #lanes = new Map<string, Lane>();
  #hadLanes = false;
  #answeredMs: number | undefined;
  /** The time of the first failure since the last answer, and the code of the last failure. */
  #failing: { readonly sinceMs: number; readonly code: string } | undefined;

  constructor(options: LaneWatchOptions) {
    this.#options = options;
  }

  readonly observer: Observer = {
    lane: (agentId, state) => {
      this.#hadLanes = true;
      if (state === undefined) this.#lanes.delete(agentId);
      else this.#lanes.set(agentId, { state, asking: false, steppedMs: this.#nowMs() });
    },
    polling: (agentId) => {
      const lane = this.#lanes.get(agentId);
      if (lane) this.#lanes.set(agentId, { ...lane, asking: true, steppedMs: this.#nowMs() });
    },
    poll: ({ agentId, kind, code }) => {
      const nowMs = this.#nowMs();
      const lane = this.#lanes.get(agentId);
      if (lane) this.#lanes.set(agentId, { ...lane, asking: false, steppedMs: nowMs });
      // The lane does not poll the tink server.
      if (INSIDE_AGENT_IDS.has(agentId)) return;
      if (kind === "failed") this.#failing = { sinceMs: this.#failing?.sinceMs ?? nowMs, code };
      else {
        this.#failing = undefined;
        this.#answeredMs = nowMs;
      }
    },
  };

  /** Whether every lane makes progress. A lane with an action may take as long as the action. */
  lanes(): HealthFinding {
    const nowMs = this.#nowMs();
    const stalled = [...this.#lanes].filter(
      ([, { state, steppedMs }]) => !RESTING.has(state) && nowMs - steppedMs > this.#options.stalledMs,
    );
    const [first] = stalled;
    if (first === undefined) return { ok: true, reason: `${this.#lanes.size} lanes are healthy` };
    const [agentId, { state, steppedMs }] = first;
    const others = stalled.length === 1 ? "" : `, and ${stalled.length - 1} more`;
    return {
      ok: false,
      reason: `lane ${agentId} has been ${state} without a step for ${formatSeconds(nowMs - steppedMs)}${others}`,
    };
  }

  /**
   * Whether the tink server answers. An idle server holds polls for up to a minute, so a held poll on an open connection
   * counts as an answer. A rejected poll of a single lane does not count.
   */
  server({ connected }: { readonly connected: () => boolean }): HealthFinding {
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
    return [...this.#lanes.values()].some(({ asking, steppedMs }) => asking && nowMs - steppedMs >= HELD_MS);
  }

  #nowMs(): number {
    return this.#options.clock.monotonicMs();
  }
}
