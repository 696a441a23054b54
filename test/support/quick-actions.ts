import { actionLibraryOn } from "../../cli/action-library.ts";
import { scaledClock } from "./scaled-clock.ts";

/** For actions, which look again after half a second where a simulated machine has long changed. */
export const quickClock = scaledClock(4);

/** This project's actions on that clock. */
export const quickLibrary = actionLibraryOn(quickClock);
