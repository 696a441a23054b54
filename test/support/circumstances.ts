import { actionLibrary } from "../../cli/action-library.ts";
import { systemClock } from "../../shared/clock.ts";
import type { Circumstances } from "../../worker/policy/decide.ts";

/** The policy decides on this project's actions, now. */
export const circumstances: Circumstances = { catalogue: actionLibrary, clock: systemClock };
