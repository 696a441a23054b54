import { expect, test } from "vitest";
import { nothingToRemove } from "../../../../worker/core/ports/outcome.ts";
import { ActionRun } from "../../../../worker/core/run/action-run.ts";
import { SetClock } from "../../../support/set-clock.ts";
import { scriptedRequest } from "../../runtimes/launch-request.ts";
import { FullJournal } from "../journal/full-journal.ts";
import { briefRuntime, labServices } from "./executor-lab.ts";

const END = nothingToRemove({
  ...{ ok: true, message: "done", timedOut: false, killed: false },
  ...{ startedAt: new Date(0), stoppedAt: new Date(1) },
});

/** The run of an action that is about to be launched. */
async function begin(journal = new FullJournal()) {
  const { action } = scriptedRequest([]).request;
  const run = new ActionRun(labServices({ journal, clock: new SetClock(), runtime: briefRuntime() }), action);
  run.setTarget(action, { connected: false });
  await run.begin();
  return { journal, run };
}

test("a launch is recorded once, and not after the end", async () => {
  const { journal, run } = await begin();

  await run.launched({ pid: 1 });
  await run.launched({ pid: 1 });
  await run.withhold(END);
  await run.launched({ pid: 1 });

  expect(journal.written).toEqual(["launching", "launched", "ended"]);
});

test("an acknowledgement is recorded once, after the end", async () => {
  const { journal, run } = await begin();

  expect(await run.settled("acknowledged")).toBe(false);
  await run.withhold(END);
  expect(await run.settled("acknowledged")).toBe(true);
  expect(await run.settled("acknowledged")).toBe(true);

  expect(journal.written).toEqual(["launching", "ended", "acknowledged"]);
});

test("an acknowledgement that could not be recorded is recorded later", async () => {
  const { journal, run } = await begin(new FullJournal("acknowledged"));
  await run.withhold(END);

  expect(await run.settled("acknowledged")).toBe(false);
  expect(await run.settled("acknowledged")).toBe(true);

  expect(journal.written).toEqual(["launching", "ended", "acknowledged"]);
});

test("a rejection is recorded once, after the end, and the end may be settled afterwards", async () => {
  const { journal, run } = await begin();

  await run.rejected("NotFound");
  await run.withhold(END);
  await run.rejected("NotFound");
  await run.rejected("PermissionDenied");
  expect(await run.settled("dropped")).toBe(true);

  const [, , rejected, dropped] = journal.entries;
  expect(journal.written).toEqual(["launching", "ended", "rejected", "dropped"]);
  expect(rejected).toMatchObject({ code: "NotFound", end: { state: "success" } });
  expect(dropped).not.toHaveProperty("code");
});

test.each(["acknowledged", "dropped"] as const)(
  "an end that was %s is to be reported again",
  async (delivery) => {
    const { journal, run } = await begin();
    await run.withhold(END);
    await run.settled(delivery);

    await run.reopen();

    expect(journal.entries.at(-1)).toEqual(journal.entries[1]);
    expect(await run.settled("acknowledged")).toBe(true);
  },
);
