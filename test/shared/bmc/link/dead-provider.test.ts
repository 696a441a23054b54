import { describe, expect, test } from "vitest";
import { measureRace, type RaceScenario, type RacingProvider } from "../../../../bench/race/measure.ts";

/** A tenth of an operation is more than a busy test machine adds to a quick run. */
const ROUND_TRIP_MS = { redfish: 200, ipmi: 150 };
const MOST = 1.1;
const RUNS = 12;
const TEST_MS = 110_000;

/**
 * The least time to the result among runs that take turns, as the ratio to the living provider alone; other
 * work on the machine only ever adds to a run. Ends as soon as the ratio holds.
 */
async function leastRatio(alone: RaceScenario, raced: RaceScenario): Promise<number> {
  let leastAlone = Number.POSITIVE_INFINITY;
  let leastRaced = Number.POSITIVE_INFINITY;
  for (let run = 0; run < RUNS; run += 1) {
    leastAlone = Math.min(leastAlone, (await measureRace(alone, ROUND_TRIP_MS)).resultMs);
    leastRaced = Math.min(leastRaced, (await measureRace(raced, ROUND_TRIP_MS)).resultMs);
    if (leastRaced / leastAlone <= MOST) break;
  }
  return leastRaced / leastAlone;
}

describe.each<[RacingProvider, RacingProvider]>([
  ["redfish", "ipmi"],
  ["ipmi", "redfish"],
])("%s answers within a tenth of its own time although %s is dead", (alive, dead) => {
  const alone = { title: "alone", alive, providers: [alive] };

  test.concurrent.each<[string, Omit<RaceScenario, "title" | "alive">]>([
    ["when it is preferred", { providers: [alive, dead] }],
    ["when the dead one is preferred", { providers: [dead, alive] }],
    ["when the dead one is preferred and it is remembered", { providers: [dead, alive], remembered: true }],
  ])(
    "%s",
    async (title, scenario) => {
      expect(await leastRatio(alone, { title, alive, ...scenario })).toBeLessThanOrEqual(MOST);
    },
    TEST_MS,
  );
});
