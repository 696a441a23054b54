import { duration } from "./input.ts";

/** How long a machine may take to reach a power state. */
export const stateTimeout = duration({
  env: "STATE_TIMEOUT",
  description: "Time limit for the machine to reach the state",
  default: "120s",
});
