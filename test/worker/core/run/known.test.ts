import { describe, expect, it, vi } from "vitest";
import type { ActionStatus } from "../../../../worker/core/action/action.ts";
import { MemoryJournal } from "../../../../worker/core/action/action-journal.ts";
import { scriptedRequest } from "../../runtimes/launch-request.ts";
import { briefRuntime, executorLab } from "./executor-lab.ts";

/** A worker that has ended the action "earlier", and then "later", whose end the server does not take until it is told to. */
async function pendingLab() {
  const run = vi.fn(briefRuntime().run);
  const taken: ActionStatus[] = [];
  let isTaking = false;
  const { executor, signals } = executorLab({ ...briefRuntime(), run }, new MemoryJournal(), undefined, {
    source: {
      async report(status) {
        const isLate = status.action.actionId === "later" && status.state !== "running";
        if (isLate && !isTaking) return { kind: "retry", code: "Unavailable", reason: "no answer" };
        taken.push(status);
        return { kind: "acknowledged" };
      },
    },
  });
  const { action } = scriptedRequest([]).request;
  const execute = (actionId: string) => executor.execute({ ...action, actionId }, signals);
  await execute("earlier");
  await execute("later");
  const ended = () => taken.flatMap(({ action, state }) => (state === "running" ? [] : [action.actionId]));
  const take = async () => {
    isTaking = true;
    await executor.reported();
  };
  return { ended, execute, run, take };
}

describe("while the report of an end is pending", () => {
  it("its action is not run again when it is served again", async () => {
    const { ended, execute, run, take } = await pendingLab();

    expect(await execute("later")).toBeUndefined();
    await take();

    expect(run).toHaveBeenCalledTimes(2);
    expect(ended()).toEqual(["earlier", "later"]);
  });

  it("an earlier action of the workflow that is served again leaves it pending", async () => {
    const { ended, execute, take } = await pendingLab();

    await execute("earlier");
    await take();

    expect(ended()).toEqual(["earlier", "earlier", "later"]);
  });

  it("the next action of the workflow shows that the server has it", async () => {
    const { ended, execute, take } = await pendingLab();

    await execute("next");
    await take();

    expect(ended()).toEqual(["earlier", "next"]);
  });
});
