import type { ReturningIds } from "../../core/action/action.ts";

/** The longest time for which this server's answers may be stale. */
const STALE_AT_MOST_MS = 15_000;

/** The server has no start of the action: anything found belongs to an earlier run, unless the server does not show the start yet. */
export const TO_BEGIN: ReturningIds = {
  ownerOfEnd: (ageMs) => (ageMs < STALE_AT_MOST_MS ? "unknown" : "earlier-run"),
  ownerOfLaunch: ({ hasEnded, ageMs }) => (hasEnded && ageMs >= STALE_AT_MOST_MS ? "earlier-run" : "unknown"),
};

/** The server has the action's start: anything found was launched after that. The server may not know an end that was just settled. */
export const BEGUN: ReturningIds = {
  ownerOfEnd: (ageMs) => (ageMs < STALE_AT_MOST_MS ? "unknown" : "this-run"),
};
