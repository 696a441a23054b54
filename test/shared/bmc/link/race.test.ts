import { once } from "node:events";
import { expect, test, vi } from "vitest";
import { type Candidate, openFirst as race } from "../../../../shared/bmc/link/race.ts";
import { systemClock } from "../../../../shared/clock.ts";
import { BmcError } from "../../../../shared/contract/bmc-error.ts";

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
  /** Opens in spite of being cancelled, and not before. */
  const deaf = (name: Candidate<string>["name"]): Candidate<string> => ({
    name,
    open: async (signal) => {
      await once(signal, "abort");
      return name;
    },
  });
  const isFinal = (error: BmcError) => error.class === "auth";
  const discard = async (opened: string) => void record.push(`${opened} discarded`);
  /** Runs a race to the end of the tidying up after it. */
  const openFirst = async (
    candidates: readonly Candidate<string>[],
    headStartMs: number,
    signal = never(),
  ) => {
    let tidied: Promise<void> | undefined;
    const tidying = (work: Promise<void>) => {
      tidied = work;
    };
    try {
      return await race(candidates, { headStartMs, isFinal, discard, tidying }, signal);
    } finally {
      await tidied;
    }
  };
  return { record, answersAfter, failsAfter, deaf, openFirst };
}

test("the first in order wins alone when it answers within its head start", async () => {
  const { record, answersAfter, openFirst } = field();

  const won = await openFirst([answersAfter("redfish", 5), answersAfter("ipmi", 0)], 2_000);

  expect(won).toBe("redfish");
  expect(record).toEqual(["redfish started"]);
});

test("a silent one costs its head start and is cancelled when another answers", async () => {
  const { record, answersAfter, openFirst } = field();

  const won = await openFirst([answersAfter("redfish", 60_000), answersAfter("ipmi", 1)], 20);

  expect(won).toBe("ipmi");
  expect(record).toEqual(["redfish started", "ipmi started", "redfish cancelled"]);
});

test("a failure starts the next one at once", async () => {
  const { failsAfter, answersAfter, openFirst } = field();
  const startedMs = performance.now();

  const won = await openFirst(
    [failsAfter("redfish", 1, new BmcError("unreachable", "refused")), answersAfter("ipmi", 1)],
    30_000,
  );

  expect(won).toBe("ipmi");
  expect(performance.now() - startedMs).toBeLessThan(10_000);
});

test("an attempt that failed and is repeated starts the next one at once", async () => {
  const { record, answersAfter, openFirst } = field();
  const failing: Candidate<string> = {
    name: "redfish",
    open: async (signal, { failing }) => {
      failing(new BmcError("unreachable", "refused"));
      failing(new BmcError("unreachable", "refused again"));
      await systemClock.sleep(60_000, signal);
      return "redfish";
    },
  };

  const won = await openFirst([failing, reachedAndAnswers("ipmi", 20), answersAfter("ipmitool", 0)], 30_000);

  expect(won).toBe("ipmi");
  expect(record).toEqual([]);
});

test("a refused password ends the search", async () => {
  const { record, failsAfter, answersAfter, openFirst } = field();

  const running = openFirst(
    [failsAfter("redfish", 1, new BmcError("auth", "the BMC refused the password")), answersAfter("ipmi", 0)],
    30_000,
  );

  await expect(running).rejects.toMatchObject({
    class: "auth",
    message: "redfish: the BMC refused the password",
  });
  expect(record).toEqual(["redfish started"]);
});

test("a final failure ends the search also where another one has opened and waits", async () => {
  const { record, openFirst } = field();
  const refused = async () => {
    throw new BmcError("auth", "refused");
  };

  const running = openFirst(overtakenThen(refused), 30_000);

  await expect(running).rejects.toMatchObject({ class: "auth", message: "redfish: refused" });
  expect(record).toEqual(["ipmi discarded"]);
});

test("what opens after another has won is discarded before the race ends", async () => {
  const { record, deaf, answersAfter, openFirst } = field();

  await openFirst([deaf("redfish"), answersAfter("ipmi", 1)], 1);

  expect(record).toContain("redfish discarded");
});

test("when all fail the error has every reason and the most telling class", async () => {
  const { failsAfter, openFirst } = field();

  const running = openFirst(
    [
      failsAfter("redfish", 1, new BmcError("unreachable", "connection refused")),
      failsAfter("ipmi", 1, new BmcError("protocol", "not RMCP+")),
    ],
    1,
  );

  await expect(running).rejects.toMatchObject({
    class: "protocol",
    message: "redfish: connection refused; ipmi: not RMCP+",
  });
});

test("an aborted signal cancels all candidates and is the error", async () => {
  const { record, answersAfter, openFirst } = field();
  const controller = new AbortController();
  const running = openFirst(
    [answersAfter("redfish", 60_000), answersAfter("ipmi", 60_000)],
    1,
    controller.signal,
  );
  await vi.waitFor(() => expect(record).toHaveLength(2), { timeout: 20_000 });

  controller.abort(new BmcError("cancelled", "cancelled by SIGTERM"));

  await expect(running).rejects.toMatchObject({ class: "cancelled" });
  expect(record.filter((entry) => entry.endsWith("cancelled"))).toHaveLength(2);
});

/** Shows a sign of life once another one has started, and ends as told after that one has opened. */
function overtakenThen(end: () => Promise<string>): readonly Candidate<string>[] {
  const started = Promise.withResolvers<void>();
  const preferred = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  return [
    {
      name: "redfish",
      open: async (_, { reached }) => {
        await started.promise;
        reached();
        preferred.resolve();
        await opened.promise;
        await systemClock.sleep(20);
        return end();
      },
    },
    {
      name: "ipmi",
      open: async () => {
        started.resolve();
        await preferred.promise;
        opened.resolve();
        return "ipmi";
      },
    },
  ];
}

/** Shows a sign of life at once and answers after `ms`. */
function reachedAndAnswers(name: Candidate<string>["name"], ms: number): Candidate<string> {
  return {
    name,
    open: async (signal, { reached }) => {
      reached();
      await systemClock.sleep(ms, signal);
      return name;
    },
  };
}

test("one that has been reached has its head start for itself", async () => {
  const { record, answersAfter, openFirst } = field();

  const won = await openFirst([reachedAndAnswers("redfish", 200), answersAfter("ipmi", 0)], 20_000);

  expect(won).toBe("redfish");
  expect(record).toEqual([]);
});

test("one that is reached late still goes before the one that opened in the meantime", async () => {
  const { record, openFirst } = field();

  const won = await openFirst(
    overtakenThen(async () => "redfish"),
    20_000,
  );

  expect(won).toBe("redfish");
  expect(record).toEqual(["ipmi discarded"]);
});

test("one whose head start has expired loses to the one that has opened", async () => {
  const { answersAfter, openFirst } = field();

  const won = await openFirst([reachedAndAnswers("redfish", 60_000), answersAfter("ipmi", 1)], 100);

  expect(won).toBe("ipmi");
});

test("one that gives no sign of life does not cost its head start", async () => {
  const { answersAfter, openFirst } = field();
  const startedMs = performance.now();

  const won = await openFirst([answersAfter("redfish", 60_000), answersAfter("ipmi", 1)], 30_000);

  expect(won).toBe("ipmi");
  expect(performance.now() - startedMs).toBeLessThan(10_000);
});
