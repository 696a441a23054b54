import { expect, it, vi } from "vitest";
import { MemoryJournal } from "../../../../worker/core/journal/memory-journal.ts";
import { scriptedRequest } from "../../runtimes/launch-request.ts";
import { briefRuntime, executorLab } from "./executor-lab.ts";

it("an action that cannot be read is reported as failed with the reason, and not run", async () => {
  const run = vi.fn(briefRuntime().run);
  const { executor, reports, signals } = executorLab({ ...briefRuntime(), run }, new MemoryJournal());
  const { action } = scriptedRequest(["host"]).request;

  await executor.execute({ ...action, unreadable: "the action's timeout is negative: -1 s" }, signals);

  expect(run).not.toHaveBeenCalled();
  expect(reports.map(({ state }) => state)).toEqual(["running", "failed"]);
  expect(reports.at(-1)?.message).toBe(
    `${action.name} failed (usage): the action's timeout is negative: -1 s`,
  );
});
