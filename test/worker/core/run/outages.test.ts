import { once } from "node:events";
import { expect, test, vi } from "vitest";
import { isOver, type Workflow } from "../../../../simulators/tink/workflow.ts";
import { workingLab } from "../../../support/lab.ts";

const hardOff = { name: "power-off", environment: { MODE: "hard" } };

type Lab = Awaited<ReturnType<typeof workingLab>>;

const rack = () =>
  workingLab({ machines: { one: { powerOffMs: 400 } }, argv: ["--backoff-max-interval", "300ms"] });

interface Case {
  readonly title: string;
  /** Done to the workflow while the server is away. */
  readonly happens: (lab: Lab, workflow: Workflow) => void;
  readonly state: string;
  /** Logged about the report: one of these. */
  readonly logged: readonly string[];
}

const cases: readonly Case[] = [
  {
    title: "that has timed out is reported",
    happens: ({ server }, workflow) => server.board.set(workflow, { state: "TIMEOUT" }),
    state: "TIMEOUT",
    logged: ["report acknowledged"],
  },
  {
    title: "that was deleted is dropped",
    happens: ({ server }, workflow) => server.board.delete(workflow),
    state: "RUNNING",
    logged: ["workflow not found, report dropped"],
  },
  {
    title: "that was replaced by another one is dropped",
    happens: (lab, workflow) => {
      lab.server.board.delete(workflow);
      const [namespace = "", name = ""] = workflow.id.split("/");
      lab.submitAs({ namespace, name }, "pbnj-one", { name: "power-status" }, { name: "get-boot-device" });
    },
    state: "RUNNING",
    // The report and the lane's next poll are answered in any order.
    logged: ["workflow not found, report dropped", "report superseded by another action of the workflow"],
  },
];

test.concurrent.each(cases)(
  "after an outage, the end of an action of a workflow $title, and the lane continues",
  async (given) => {
    await using lab = await rack();
    const obeyed = once(lab.machine("one"), "command");
    const workflow = lab.submit("pbnj-one", hardOff, { name: "power-on" });
    await obeyed;
    await lab.server.stop();
    await lab.worker.untilLogged("tink server unavailable, retrying");

    given.happens(lab, workflow);
    await lab.server.start();
    const about = { action: "power-off", state: "success" };
    await Promise.any(given.logged.map((message) => lab.worker.untilLogged(message, about)));
    // The server looks at an agent's first workflow only.
    if (given.state === "TIMEOUT") lab.server.board.delete(workflow);
    const next = lab.submit("pbnj-one", { name: "power-status" });
    await lab.server.until(() => lab.server.workflows().every(isOver));

    expect(workflow.state).toBe(given.state);
    expect(next.state).toBe("SUCCESS");
    expect(lab.machine("one").commands.map(({ action }) => action)).toEqual(["off"]);
    await vi.waitFor(() => expect(lab.worker.journal.unfinished()).toEqual([]), { timeout: 20_000 });
  },
);
