import type { JournalPhase } from "./entry.ts";

/** What the worker knows of an action it was served. All states but the first are phases of its journal entry. */
export type ActionState = "admitted" | JournalPhase;

/** What happens to an action. */
export type ActionEvent =
  /** It has its turn. */
  | "begin"
  /** It exists. */
  | "launch"
  | "end"
  /** Policy or inventory deny it, so that it ends without a launch. */
  | "deny"
  /** The server, or a proxy before it, rejected the report of its end. */
  | "reject"
  /** The server has its end. */
  | "acknowledge"
  /** No server waits for its end. */
  | "drop"
  /** The server serves it again although its end is settled. */
  | "serve"
  /** It did nothing: the server serves it again. Or the server serves another run under its ID. */
  | "forget";

export interface StateRule {
  /** The state is on record before this is done, so that the next worker knows that it may have been done. */
  readonly before: "launch" | "act" | "report" | "repeat" | "remove";
  /**
   * If it cannot be written. `stop`: what comes next is not done. `continue`: it is done all the same, and the worker itself remembers.
   * `wait`: it is done once the state is written.
   */
  readonly unwritten: "stop" | "continue" | "wait";
  /** Whether it must survive a power loss: without it, the next worker would do again what may be done only once. */
  readonly synced: boolean | "unless-connected";
  /** An event that is not here changes nothing. */
  readonly on: Partial<Readonly<Record<ActionEvent, JournalPhase | "gone">>>;
}

const SETTLED = {
  before: "remove",
  unwritten: "wait",
  synced: false,
  on: { serve: "ended", forget: "gone" },
} as const;

/**
 * Every state of an action and every way out of it: what must be on record, before what, and what follows from each event. The
 * journal writes these states and no others, and a test breaks a promise for each changed rule
 * (test/worker/core/run/crash-points.test.ts).
 */
export const STATES: Readonly<Record<JournalPhase, StateRule>> & {
  readonly admitted: Pick<StateRule, "on">;
} = {
  /** It may run, and nothing of it is on record. A denied action stays off the record: when it is served again, it is denied again. */
  admitted: { on: { begin: "launching", deny: "ended", forget: "gone" } },
  /** It is about to be launched. One without a connection from the worker acts as soon as it exists. */
  launching: {
    before: "launch",
    unwritten: "stop",
    synced: "unless-connected",
    on: { launch: "launched", end: "ended", forget: "gone" },
  },
  /** It exists, and may act. */
  launched: { before: "act", unwritten: "stop", synced: true, on: { end: "ended", forget: "gone" } },
  /** It ended, and the server may not know. Its hook adds to the end. */
  ended: {
    before: "report",
    unwritten: "continue",
    synced: true,
    on: { end: "ended", reject: "rejected", acknowledge: "acknowledged", drop: "dropped" },
  },
  /** Refused is not told: the report is repeated. */
  rejected: {
    before: "repeat",
    unwritten: "continue",
    synced: false,
    on: { acknowledge: "acknowledged", drop: "dropped" },
  },
  /** The server has its end. Remembered for a while, because the server may still serve the action. */
  acknowledged: SETTLED,
  /** No server waits for its end. Remembered: if a server serves the action again, it gets this end. */
  dropped: SETTLED,
};
