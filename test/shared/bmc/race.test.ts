import { expect, test } from "vitest";
import { BmcError } from "../../../shared/bmc/errors.ts";
import { type Candidate, openFirst } from "../../../shared/bmc/race.ts";
import { systemClock } from "../../../shared/clock.ts";

const never = () => new AbortController().signal;

/** Candidates that are what their behaviour says, with a record of what became of them. */
function field() {
  const record: string[] = [];
  const answersAfter = (name: Candidate<string>["name"], ms: number): Candidate<string> => ({
    name,
    open: async (signal) => {
      record.push(`${name} started`);
      try {
        await systemClock.sleep(ms, signal);
        return name;
      } catch (reason) {
        record.push(`${name} cancelled`);
        throw reason;
      }
    },
  });
  const failsAfter = (name: Candidate<string>["name"], ms: number, error: BmcError): Candidate<string> => ({
    name,
    open: async (signal) => {
      record.push(`${name} started`);
      await systemClock.sleep(ms, signal);
      throw error;
    },
  });
  const deafFor = (name: Candidate<string>["name"], ms: number): Candidate<string> => ({
    name,
    open: async () => {
      await systemClock.sleep(ms);
      return name;
    },
  });
  const discard = async (opened: string) => void record.push(`${opened} discarded`);
  return { record, answersAfter, failsAfter, deafFor, discard };
}

test("the first in order wins alone when it answers within its head start", async () => {
  const { record, answersAfter, discard } = field();

  const won = await openFirst(
    [answersAfter("redfish", 5), answersAfter("ipmi", 0)],
    { headStartMs: 2_000, discard },
    never(),
  );

  expect(won).toBe("redfish");
  expect(record).toEqual(["redfish started"]);
});

test("a silent one costs its head start and is cancelled when another answers", async () => {
  const { record, answersAfter, discard } = field();

  const won = await openFirst(
    [answersAfter("redfish", 60_000), answersAfter("ipmi", 1)],
    { headStartMs: 20, discard },
    never(),
  );

  expect(won).toBe("ipmi");
  expect(record).toEqual(["redfish started", "ipmi started", "redfish cancelled"]);
});

test("a failure starts the next one at once", async () => {
  const { failsAfter, answersAfter, discard } = field();
  const startedMs = performance.now();

  const won = await openFirst(
    [failsAfter("redfish", 1, new BmcError("unreachable", "refused")), answersAfter("ipmi", 1)],
    { headStartMs: 30_000, discard },
    never(),
  );

  expect(won).toBe("ipmi");
  expect(performance.now() - startedMs).toBeLessThan(10_000);
});

test("an attempt that failed and is repeated starts the next one at once", async () => {
  const { record, answersAfter, discard } = field();
  const stumbling: Candidate<string> = {
    name: "redfish",
    open: async (signal, failing) => {
      failing(new BmcError("unreachable", "refused"));
      failing(new BmcError("unreachable", "refused again"));
      await systemClock.sleep(60_000, signal);
      return "redfish";
    },
  };

  const won = await openFirst(
    [stumbling, answersAfter("ipmi", 20), answersAfter("ipmitool", 0)],
    { headStartMs: 30_000, discard },
    never(),
  );

  expect(won).toBe("ipmi");
  expect(record).toEqual(["ipmi started"]);
});

test("a refused password ends the search", async () => {
  const { record, failsAfter, answersAfter, discard } = field();

  const race = openFirst(
    [failsAfter("redfish", 1, new BmcError("auth", "the BMC refused the password")), answersAfter("ipmi", 0)],
    { headStartMs: 30_000, discard },
    never(),
  );

  await expect(race).rejects.toMatchObject({
    class: "auth",
    message: "redfish: the BMC refused the password",
  });
  expect(record).toEqual(["redfish started"]);
});

test("what opens after another has won is discarded before the race is over", async () => {
  const { record, deafFor, answersAfter, discard } = field();

  await openFirst([deafFor("redfish", 60), answersAfter("ipmi", 1)], { headStartMs: 1, discard }, never());

  expect(record).toContain("redfish discarded");
});

test("when all fail the error has every reason and the most telling class", async () => {
  const { failsAfter, discard } = field();

  const race = openFirst(
    [
      failsAfter("redfish", 1, new BmcError("unreachable", "connection refused")),
      failsAfter("ipmi", 1, new BmcError("protocol", "not RMCP+")),
    ],
    { headStartMs: 1, discard },
    never(),
  );

  await expect(race).rejects.toMatchObject({
    class: "protocol",
    message: "redfish: connection refused; ipmi: not RMCP+",
  });
});

test("an aborted signal cancels all candidates and is the error", async () => {
  const { record, answersAfter, discard } = field();
  const controller = new AbortController();
  const race = openFirst(
    [answersAfter("redfish", 60_000), answersAfter("ipmi", 60_000)],
    { headStartMs: 1, discard },
    controller.signal,
  );
  await systemClock.sleep(30);

  controller.abort(new BmcError("cancelled", "cancelled by SIGTERM"));

  await expect(race).rejects.toMatchObject({ class: "cancelled" });
  expect(record.filter((entry) => entry.endsWith("cancelled"))).toHaveLength(2);
});
