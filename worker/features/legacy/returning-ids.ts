import type { ReturningIds } from "../../core/action/action.ts";

/** This server's answers are behind for so long at most. */
const STALE_AT_MOST_MS = 15_000;

/** The server has no start of the action: whatever is left is of an earlier run, unless the server does not show its start yet. */
export const TO_BEGIN: ReturningIds = {
  ownerOfEnd: (ageMs) => (ageMs < STALE_AT_MOST_MS ? "unknown" : "earlier-run"),
  ownerOfLaunch: ({ hasEnded, ageMs }) => (hasEnded && ageMs >= STALE_AT_MOST_MS ? "earlier-run" : "unknown"),
};

/** The server has its start: what exists was launched after that. An end that is just settled may be unknown to the server. */
export const BEGUN: ReturningIds = {
  ownerOfEnd: (ageMs) => (ageMs < STALE_AT_MOST_MS ? "unknown" : "this-run"),
};
