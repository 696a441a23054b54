import { expect, test } from "vitest";
import { silentLogger } from "../../../shared/logger.ts";
import { ActionRecorder, newEntry } from "../../../worker/execution/action-recorder.ts";
import { SetClock } from "../../support/set-clock.ts";
import { scriptedRequest } from "../runtime/launch-request.ts";
import { FullJournal } from "./executor-lab.ts";

const STATUS = { action: scriptedRequest([]).request.action, startedAt: new Date(0), message: "done" };
const END = { ...STATUS, state: "success", stoppedAt: new Date(1) } as const;

/** A recorder that has written that its action is launching. */
async function begin(journal = new FullJournal()) {
  const clock = new SetClock();
  const options = { journal, clock, log: silentLogger, runtime: "process", defaultTimeoutMs: 1 };
  const recorder = await ActionRecorder.begin(options, newEntry(options, STATUS.action, {}));
  return { journal, recorder };
}

test("a launch is recorded once, and not after the end", async () => {
  const { journal, recorder } = await begin();

  await recorder.launched({ pid: 1 });
  await recorder.launched({ pid: 1 });
  await recorder.ended(END);
  await recorder.launched({ pid: 1 });

  expect(journal.written).toEqual(["launching", "launched", "ended"]);
});

test("an acknowledgement is recorded once, after the end", async () => {
  const { journal, recorder } = await begin();

  expect(await recorder.settled("acknowledged")).toBe(false);
  await recorder.ended(END);
  expect(await recorder.settled("acknowledged")).toBe(true);
  expect(await recorder.settled("acknowledged")).toBe(true);

  expect(journal.written).toEqual(["launching", "ended", "acknowledged"]);
});

test("an acknowledgement that could not be recorded is recorded later", async () => {
  const { journal, recorder } = await begin(new FullJournal("acknowledged"));
  await recorder.ended(END);

  expect(await recorder.settled("acknowledged")).toBe(false);
  expect(await recorder.settled("acknowledged")).toBe(true);

  expect(journal.written).toEqual(["launching", "ended", "acknowledged"]);
});

test("a rejection is recorded once, after the end, and the end may be settled afterwards", async () => {
  const { journal, recorder } = await begin();

  await recorder.rejected("NotFound");
  await recorder.ended(END);
  await recorder.rejected("NotFound");
  await recorder.rejected("PermissionDenied");
  expect(await recorder.settled("dropped")).toBe(true);

  const [, , rejected, dropped] = journal.entries;
  expect(journal.written).toEqual(["launching", "ended", "rejected", "dropped"]);
  expect(rejected).toMatchObject({ code: "NotFound", end: { state: "success" } });
  expect(dropped).not.toHaveProperty("code");
});

test.each(["acknowledged", "dropped"] as const)(
  "an end that was %s is to be reported again",
  async (delivery) => {
    const { journal, recorder } = await begin();
    await recorder.ended(END);
    await recorder.settled(delivery);

    await recorder.reopened();

    expect(journal.entries.at(-1)).toEqual(journal.entries[1]);
    expect(await recorder.settled("acknowledged")).toBe(true);
  },
);
