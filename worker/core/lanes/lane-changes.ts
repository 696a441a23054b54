import type { LogFields } from "../../../shared/logger.ts";
import type { LaneChanges } from "./worker.ts";

/** A log line has at most so many names. */
const MOST_NAMES = 20;

export function laneFields({ added, removed }: LaneChanges): LogFields {
  return { lanesAdded: shortenedNames(added), lanesRemoved: shortenedNames(removed) };
}

export function shortenedNames(names: readonly string[]): readonly string[] {
  return names.length <= MOST_NAMES
    ? names
    : [...names.slice(0, MOST_NAMES), `${names.length - MOST_NAMES} more`];
}
