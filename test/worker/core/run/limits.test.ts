import { expect, it } from "vitest";
import { MemoryJournal } from "../../../../worker/core/action/action-journal.ts";
import { type ActionEvent, noObserver } from "../../../../worker/core/action/observer.ts";
import { scriptedRequest } from "../../runtimes/launch-request.ts";
import { briefRuntime, executorLab, TARGET } from "./executor-lab.ts";

it("an action waits for a limit that it shares with another machine, and says so", async () => {
  const events: ActionEvent[] = [];
  const firstRuns = Promise.withResolvers<void>();
  const runtime = briefRuntime();
  const { executor, reports, signals } = executorLab(
    {
      ...runtime,
      async run(request, signal) {
        if (request.action.actionId === "first") await firstRuns.promise;
        return runtime.run(request, signal);
      },
    },
    new MemoryJournal(),
    { ...noObserver, action: (event) => void events.push(event) },
    {
      locate: ({ actionId }) => ({ ...TARGET, machine: actionId, lockKey: actionId }),
      limitsOf: () => [{ key: "rack=r1", of: "rack=r1", atOnce: 1 }],
    },
  );
  const execute = (actionId: string) =>
    executor.execute(scriptedRequest([], { action: { actionId } }).request.action, signals);
  const progressOf = (id: string) =>
    events.flatMap((event) =>
      event.kind === "progress" && event.action.actionId === id ? [event.progress?.text] : [],
    );
  const first = execute("first");
  await expect.poll(() => events.some(({ kind }) => kind === "started")).toBe(true);
  const second = execute("second");
  await expect.poll(() => progressOf("second")).toEqual(["waiting for the limit of rack=r1 (1 at once)"]);
  expect(events.filter(({ kind }) => kind === "started")).toHaveLength(1);

  firstRuns.resolve();

  expect(await Promise.all([first, second])).toMatchObject([{ ok: true }, { ok: true }]);
  expect(progressOf("second").slice(0, 2)).toEqual([
    "waiting for the limit of rack=r1 (1 at once)",
    undefined,
  ]);
  expect(reports.map(({ action, message }) => `${action.actionId}: ${message}`)).toContainEqual(
    expect.stringMatching(/^second: running, after \d.* of waiting for the limit of rack=r1 \(1 at once\)$/),
  );
});
