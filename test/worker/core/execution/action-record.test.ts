import { expect, test } from "vitest";
import { silentLogger } from "../../../../shared/logger.ts";
import { noObserver } from "../../../../worker/core/action/observer.ts";
import { ActionRecord } from "../../../../worker/core/execution/action-record.ts";
import { nothingToRemove } from "../../../../worker/core/runtime/outcome.ts";
import { SetClock } from "../../../support/set-clock.ts";
import { scriptedRequest } from "../../runtimes/launch-request.ts";
import { briefRuntime, FullJournal } from "./executor-lab.ts";

const END = nothingToRemove({
  ...{ ok: true, message: "done", timedOut: false, killed: false },
  ...{ startedAt: new Date(0), stoppedAt: new Date(1) },
});

/** The record of an action that is about to be launched. Its reports are never answered. */
async function begin(journal = new FullJournal()) {
  const record = ActionRecord.admitted(
    {
      ...{ journal, clock: new SetClock(), log: silentLogger, observer: noObserver, defaultTimeoutMs: 1 },
      runtime: briefRuntime(),
      reports: { running: async () => "unanswered", deliver: async () => undefined },
      sweep: { add: () => undefined },
    },
    scriptedRequest([]).request.action,
    {},
  );
  await record.begin();
  return { journal, record };
}

test("a launch is recorded once, and not after the end", async () => {
  const { journal, record } = await begin();

  await record.launched({ pid: 1 });
  await record.launched({ pid: 1 });
  await record.withhold(END);
  await record.launched({ pid: 1 });

  expect(journal.written).toEqual(["launching", "launched", "ended"]);
});

test("an acknowledgement is recorded once, after the end", async () => {
  const { journal, record } = await begin();

  expect(await record.settled("acknowledged")).toBe(false);
  await record.withhold(END);
  expect(await record.settled("acknowledged")).toBe(true);
  expect(await record.settled("acknowledged")).toBe(true);

  expect(journal.written).toEqual(["launching", "ended", "acknowledged"]);
});

test("an acknowledgement that could not be recorded is recorded later", async () => {
  const { journal, record } = await begin(new FullJournal("acknowledged"));
  await record.withhold(END);

  expect(await record.settled("acknowledged")).toBe(false);
  expect(await record.settled("acknowledged")).toBe(true);

  expect(journal.written).toEqual(["launching", "ended", "acknowledged"]);
});

test("a rejection is recorded once, after the end, and the end may be settled afterwards", async () => {
  const { journal, record } = await begin();

  await record.rejected("NotFound");
  await record.withhold(END);
  await record.rejected("NotFound");
  await record.rejected("PermissionDenied");
  expect(await record.settled("dropped")).toBe(true);

  const [, , rejected, dropped] = journal.entries;
  expect(journal.written).toEqual(["launching", "ended", "rejected", "dropped"]);
  expect(rejected).toMatchObject({ code: "NotFound", end: { state: "success" } });
  expect(dropped).not.toHaveProperty("code");
});

test.each(["acknowledged", "dropped"] as const)(
  "an end that was %s is to be reported again",
  async (delivery) => {
    const { journal, record } = await begin();
    await record.withhold(END);
    await record.settled(delivery);

    await record.reopen();

    expect(journal.entries.at(-1)).toEqual(journal.entries[1]);
    expect(await record.settled("acknowledged")).toBe(true);
  },
);
