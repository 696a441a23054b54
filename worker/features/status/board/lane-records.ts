import { defined } from "../../../../shared/defined.ts";
import { shortened } from "../../../../shared/printable.ts";
import type { LaneState, PollSeen } from "../../../core/action/observer.ts";
import { LONGEST_NAME } from "./shown-action.ts";

export interface LaneRecord {
  readonly agentId: string;
  readonly state: LaneState;
  /** On the monotonic clock. */
  readonly sinceMs: number;
  /** gRPC code of the last failed poll, while polls fail. */
  readonly code?: string;
  readonly revision: number;
}

export class LaneRecords {
  readonly #lanes = new Map<string, LaneRecord>();
  readonly #failureCodes = new Map<string, string>();

  all(): readonly LaneRecord[] {
    return [...this.#lanes.values()];
  }

  /** `changed` returns the revision of a change. */
  see(agentId: string, state: LaneState | undefined, nowMs: number, changed: () => number): void {
    if (state === undefined) {
      this.#failureCodes.delete(agentId);
      if (this.#lanes.delete(agentId)) changed();
      return;
    }
    const code = state === "failing" ? this.#failureCodes.get(agentId) : undefined;
    const before = this.#lanes.get(agentId);
    if (before?.state === state && before.code === code) return;
    const sinceMs = before?.state === state ? before.sinceMs : nowMs;
    this.#lanes.set(agentId, { agentId, state, sinceMs, ...defined({ code }), revision: changed() });
  }

  poll({ agentId, kind, code }: PollSeen): void {
    if (kind === "failed") this.#failureCodes.set(agentId, shortened(code, LONGEST_NAME));
    else this.#failureCodes.delete(agentId);
  }
}
