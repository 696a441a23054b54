import { duration } from "./input.ts";

/** How long a machine may take to reach a power state. */
export const stateTimeout = duration({
  env: "STATE_TIMEOUT",
  description: "How long the machine may take to reach the state",
  default: "120s",
});
