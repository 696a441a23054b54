import { formatTable } from "../shared/table.ts";
import { median } from "./figures.ts";
import { measureRace, type RaceScenario } from "./race/measure.ts";

/**
 * `npm run bench:race`: what a provider that never answers costs a living one, as the ratio to the living one
 * alone. Medians of runs that take turns, so that what disturbs one disturbs all.
 */
const RUNS = 5;
const ROUND_TRIP_MS = { redfish: 200, ipmi: 20 };
const ALONE = "alone";

const scenarios: readonly RaceScenario[] = (["redfish", "ipmi"] as const).flatMap((alive) => {
  const dead = alive === "redfish" ? "ipmi" : "redfish";
  return [
    { title: ALONE, alive, providers: [alive] },
    { title: `before a dead ${dead}`, alive, providers: [alive, dead] },
    {
      title: `before a dead ${dead} that starts beside it`,
      alive,
      providers: [alive, dead],
      headStartMs: 10,
    },
    { title: `behind a dead ${dead}`, alive, providers: [dead, alive] },
    { title: `behind a dead ${dead}, remembered`, alive, providers: [dead, alive], remembered: true },
    { title: `behind a dead ${dead}, no head start`, alive, providers: [dead, alive], headStartMs: 0 },
    ...(dead === "redfish"
      ? [
          {
            title: "behind a redfish that takes connections and hangs",
            alive,
            providers: [dead, alive],
            hung: true,
          } as const,
        ]
      : []),
  ];
});

const measured = scenarios.map((scenario) => ({ scenario, result: [] as number[], closed: [] as number[] }));
for (let run = 0; run < RUNS; run += 1) {
  for (const { scenario, result, closed } of measured) {
    const { resultMs, closedMs } = await measureRace(scenario, ROUND_TRIP_MS);
    result.push(resultMs);
    closed.push(closedMs);
  }
}

const rows = measured.map(({ scenario, result, closed }) => {
  const alone = measured.find((other) => {
    return other.scenario.alive === scenario.alive && other.scenario.title === ALONE;
  });
  const ratio = (times: readonly number[], base: readonly number[] = []) =>
    `${(median(times) / median(base)).toFixed(2)} x`;
  return [
    `${scenario.alive} ${scenario.title}`,
    `${median(result).toFixed(0)} ms`,
    ratio(result, alone?.result),
    `${median(closed).toFixed(0)} ms`,
    ratio(closed, alone?.closed),
  ];
});
const wire = `Redfish ${ROUND_TRIP_MS.redfish} ms and IPMI ${ROUND_TRIP_MS.ipmi} ms a round trip`;
const head = [`reading the power, ${wire}`, "to the result", "alone", "to the end", "alone"];
process.stdout.write(`${formatTable(head, rows, [1, 2, 3, 4])}\n`);
