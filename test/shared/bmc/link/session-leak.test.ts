import { expect, test } from "vitest";
import { dice } from "../../../support/dice.ts";
import { eventually } from "../faults/attempt.ts";
import { type Kind, runOnce, SLOTS, sessionLab } from "./session-lab.ts";

/** A leak in one of twenty runs fills the slots. */
const RUNS = 20 * SLOTS;
/** Clients at the same time: a leaked slot is missed by the others. */
const AT_ONCE = 4;
/**
 * A cancelled handshake waits a quarter of a second for the answer that names the slot to release; on a busy machine
 * a few answers are later, and the BMC's idle time releases their slots.
 */
const LATE_ANSWERS = 3;
const TEST_MS = 120_000;

test.concurrent.each<[string, readonly Kind[]]>([
  ["redfish with sessions", ["redfish"]],
  ["ipmi", ["ipmi"]],
  ["a race of both", ["redfish", "ipmi"]],
])(
  "runs that end at random moments leave no session open: %s",
  async (_, providers) => {
    await using lab = await sessionLab();
    const roll = dice(20_261_121);
    const outcomes: string[] = [];
    let started = 0;
    const worker = async () => {
      while (started < RUNS) {
        started += 1;
        outcomes.push(await runOnce(lab.connection(providers), roll));
      }
    };

    await Promise.all(Array.from({ length: AT_ONCE }, worker));

    // With leaked slots the BMC would be full, and answer busy from then on. On a busy machine some answers are late.
    const others = outcomes.filter((outcome) => outcome !== "busy");
    expect(outcomes.length - others.length).toBeLessThan(RUNS / 4);
    expect([...new Set(others)].toSorted()).toEqual(["cancelled", "none"]);
    await eventually(() => lab.used.redfish() === 0 && lab.used.ipmi() <= LATE_ANSWERS);
  },
  TEST_MS,
);

test("with Redfish's default authentication there is no session that a killed action could leave open", async () => {
  await using lab = await sessionLab();

  expect(await runOnce(lab.connection(["redfish"], "auto"), () => 0.99)).toBe("none");

  expect(lab.sessionsOpened()).toBe(0);
});
