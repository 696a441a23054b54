import { actionLibraryOn } from "../../cli/action-library.ts";
import { scaledClock } from "./scaled-clock.ts";

/** Actions look again after half a second; a simulated machine has changed long before. */
export const quickClock = scaledClock(4);

/** This project's actions on that clock. */
export const quickLibrary = actionLibraryOn(quickClock);
