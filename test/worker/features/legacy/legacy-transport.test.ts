import { Code, ConnectError } from "@connectrpc/connect";
import { afterEach, describe, expect, it } from "vitest";
import { exampleTemplate } from "../../../../simulators/tink/example-template.ts";
import { type LegacyTinkServer, startLegacyTinkServer } from "../../../../simulators/tink-legacy/server.ts";
import type { Action, ActionStatus } from "../../../../worker/core/action/action.ts";
import type { Poll } from "../../../../worker/core/ports/source.ts";
import { BEGUN, TO_BEGIN } from "../../../../worker/features/legacy/legacy-messages.ts";
import { legacyApi } from "../../../../worker/features/legacy/legacy-transport.ts";
import { Channel } from "../../../../worker/sources/grpc/channel.ts";
import { createDialer } from "../../../../worker/sources/grpc/dial.ts";

const never = new AbortController().signal;
const cleanups: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function connected() {
  const server = await startLegacyTinkServer();
  cleanups.push(() => server.close());
  const channel = new Channel(createDialer({ server: server.address, tls: false }));
  cleanups.push(() => channel.close());
  return { server, transport: legacyApi(channel) };
}

function actionIn(poll: Poll): Action {
  if (poll.kind !== "action") throw new Error(`expected an action, got ${JSON.stringify(poll)}`);
  return poll.action;
}

function running(action: Action): ActionStatus {
  return { action, state: "running", startedAt: new Date(), message: "running" };
}

function ended(action: Action, state: "success" | "failed" | "timeout" = "success"): ActionStatus {
  const startedAt = new Date(Date.now() - 1_500);
  return { action, state, startedAt, stoppedAt: new Date(), message: `it is ${state}` };
}

/** A workflow that begins with an action of this worker. */
function submitted(server: LegacyTinkServer, name: string, worker = "pbnj") {
  return server.submit({ name, template: exampleTemplate([{ worker, actions: ["power-off"] }]) });
}

const TWO_WORKERS = exampleTemplate([
  { worker: "pbnj", actions: ["power-off", "set-pxe-once"] },
  { worker: "machine", actions: ["install"] },
  { worker: "pbnj", actions: ["power-on"] },
]);

describe("a workflow", () => {
  it("passes from worker to worker until it is complete", async () => {
    const { server, transport } = await connected();
    const workflow = server.submit({ template: TWO_WORKERS });
    const turns = [
      ["pbnj", "power-off"],
      ["pbnj", "set-pxe-once"],
      ["machine", "install"],
      ["pbnj", "power-on"],
    ] as const;

    for (const [worker, name] of turns) {
      const other = worker === "pbnj" ? "machine" : "pbnj";
      expect(await transport.next(other, never)).toMatchObject({ kind: "idle" });
      const action = actionIn(await transport.next(worker, never));
      expect(action.name).toBe(name);
      expect(await transport.report(running(action), never)).toEqual({ kind: "acknowledged" });
      expect(await transport.report(ended(action), never)).toEqual({ kind: "acknowledged" });
    }

    await server.until(() => workflow.state === "SUCCESS");
    expect(await transport.next("pbnj", never)).toMatchObject({ kind: "idle" });
  });

  it("is served again while it runs, marked as begun", async () => {
    const { server, transport } = await connected();
    submitted(server, "a");

    const first = actionIn(await transport.next("pbnj", never));
    await transport.report(running(first), never);
    const again = actionIn(await transport.next("pbnj", never));

    expect(first.returningIds).toBe(TO_BEGIN);
    expect(again).toEqual({ ...first, returningIds: BEGUN });
  });

  it.each(["failed", "timeout"] as const)("that %s is served to no worker", async (state) => {
    const { server, transport } = await connected();
    const workflow = server.submit({ template: TWO_WORKERS });

    const action = actionIn(await transport.next("pbnj", never));
    await transport.report(running(action), never);
    await transport.report(ended(action, state), never);
    // Reset by hand, without the action.
    server.board.set(workflow, "RUNNING");

    expect(await transport.next("pbnj", never)).toMatchObject({ kind: "idle" });
  });

  it("with all actions done that was never completed is not started again", async () => {
    const { server, transport } = await connected();
    const workflow = submitted(server, "a");

    const action = actionIn(await transport.next("pbnj", never));
    await transport.report(running(action), never);
    await transport.report(ended(action), never);
    await server.until(() => workflow.state === "SUCCESS");
    server.board.set(workflow, "RUNNING");

    expect(await transport.next("pbnj", never)).toMatchObject({ kind: "idle" });
  });

  it("in preparation is not served", async () => {
    const { server, transport } = await connected();
    server.board.set(submitted(server, "a"), "PREPARING");

    expect(await transport.next("pbnj", never)).toMatchObject({ kind: "idle" });
  });
});

describe("several workflows on one worker ID", () => {
  it("take turns, without those in flight", async () => {
    const { server, transport } = await connected();
    for (const name of ["a", "b", "c"]) submitted(server, name);

    const names: string[] = [];
    for (let turn = 0; turn < 6; turn += 1) {
      names.push(actionIn(await transport.next("pbnj", never)).workflowId);
    }
    const rest = await transport.next("pbnj", never, new Set(["default/a", "default/b", "default/c"]));

    expect(names.map((name) => name.slice("default/".length)).join("")).toBe("abcabc");
    expect(rest).toMatchObject({ kind: "idle" });
  });

  it("continues when one is deleted between its context and its actions", async () => {
    const { server, transport } = await connected();
    submitted(server, "a");
    submitted(server, "b");
    server.faults.fail("GetWorkflowActions", new ConnectError('workflow "a" not found', Code.Unknown));

    expect(actionIn(await transport.next("pbnj", never)).workflowId).toBe("default/b");
  });

  it("continues when the action of one is malformed, and fails if there is no other", async () => {
    const { server, transport } = await connected();
    const workflow = submitted(server, "a");
    const tasks = workflow.tasks.map((task) => ({
      ...task,
      actions: task.actions.map((action) => ({ ...action, name: "" })),
    }));
    server.board.add({ ...workflow, tasks });
    submitted(server, "b");

    const served = await transport.next("pbnj", never);
    const alone = await transport.next("pbnj", never, new Set(["default/b"]));

    expect(actionIn(served).workflowId).toBe("default/b");
    expect(alone).toEqual({
      kind: "failed",
      code: "DataLoss",
      reason: "default/a: the action has no name",
    });
  });

  it("costs one call while nothing is pending, and none for workflows without a next action", async () => {
    const { server, transport } = await connected();
    for (const name of ["a", "b"]) {
      const workflow = submitted(server, name);
      for (const action of workflow.tasks[0]?.actions ?? []) action.state = "FAILED";
    }

    await transport.next("pbnj", never);

    expect(server.calls).toEqual([{ method: "GetWorkflowContexts", about: "pbnj" }]);
  });
});

describe("a poll that fails", () => {
  it.each([
    ["a store that does not answer", new ConnectError("cache not started", Code.Unknown), "Unknown"],
    ["a refusal", new ConnectError("invalid workflow id", Code.InvalidArgument), "InvalidArgument"],
    ["what another API would mean as idle", new ConnectError("no", Code.NotFound), "NotFound"],
  ])("fails with: %s", async (_, error, code) => {
    const { server, transport } = await connected();
    server.faults.fail("GetWorkflowContexts", error);

    expect(await transport.next("pbnj", never)).toEqual({ kind: "failed", code, reason: error.rawMessage });
  });

  it("does not try the other workflows of a server that is gone", async () => {
    const { server, transport } = await connected();
    for (const name of ["a", "b", "c"]) submitted(server, name);
    server.faults.fail("GetWorkflowActions", new ConnectError("shutting down", Code.Unavailable));

    expect(await transport.next("pbnj", never)).toMatchObject({ kind: "failed", code: "Unavailable" });
    expect(server.calls.filter(({ method }) => method === "GetWorkflowActions")).toHaveLength(1);
  });

  it("ends with the signal, whose reason it throws", async () => {
    const { server, transport } = await connected();
    server.faults.delay("GetWorkflowContexts", 60_000);
    const stop = new AbortController();

    const polling = transport.next("pbnj", stop.signal);
    await server.until(() => server.calls.length === 1);
    stop.abort(new Error("stopping"));

    await expect(polling).rejects.toThrow("stopping");
  });
});

describe("a report", () => {
  async function begun() {
    const { server, transport } = await connected();
    const workflow = server.submit({ template: TWO_WORKERS });
    const action = actionIn(await transport.next("pbnj", never));
    await transport.report(running(action), never);
    return { server, transport, workflow, action };
  }

  it("is perhaps rejected if the server may mean a write conflict", async () => {
    const { server, transport, workflow, action } = await begun();
    server.faults.fail("ReportActionStatus", new ConnectError("invalid workflow id", Code.InvalidArgument));

    expect(await transport.report(ended(action), never)).toEqual({
      kind: "retry",
      code: "InvalidArgument",
      reason: "invalid workflow id",
      perhapsRejected: true,
    });
    expect(await transport.report(ended(action), never)).toEqual({ kind: "acknowledged" });
    expect(workflow.tasks[0]?.actions[0]?.state).toBe("SUCCESS");
  });

  it("conflicts while the server reads a stale state, and is accepted afterwards", async () => {
    const { server, transport, action } = await connected().then(async (lab) => {
      lab.server.submit({ template: TWO_WORKERS });
      return { ...lab, action: actionIn(await lab.transport.next("pbnj", never)) };
    });
    server.board.freeze();
    await transport.report(running(action), never);

    const stale = [
      await transport.report(ended(action), never),
      await transport.report(running(action), never),
    ];
    server.board.thaw();

    expect(stale).toEqual([
      expect.objectContaining({ kind: "gone", code: "FailedPrecondition", perhapsStale: true }),
      expect.objectContaining({ kind: "retry", code: "InvalidArgument", perhapsRejected: true }),
    ]);
    expect(await transport.report(ended(action), never)).toEqual({ kind: "acknowledged" });
  });

  it("whose acknowledgement was lost is not waited for, and was accepted once", async () => {
    const { server, transport, workflow, action } = await begun();
    server.faults.loseAcknowledgement();

    expect(await transport.report(ended(action), never)).toMatchObject({
      kind: "retry",
      code: "Unavailable",
    });
    expect(await transport.report(ended(action), never)).toEqual({
      kind: "gone",
      code: "InvalidArgument",
      reason: "reported action name does not match the current action details",
      perhapsStale: true,
    });
    expect(workflow.tasks[0]?.actions.map(({ state }) => state)).toEqual(["SUCCESS", "PENDING"]);
  });

  it("about a workflow that is deleted is not waited for", async () => {
    const { server, transport, workflow, action } = await begun();
    server.board.delete(workflow);

    expect(await transport.report(ended(action), never)).toMatchObject({ kind: "gone", perhapsStale: true });
  });

  it("of an end is not sent to a recreated workflow, which has not begun", async () => {
    const { server, transport, workflow, action } = await begun();
    server.board.delete(workflow);
    const anew = server.submit({ template: TWO_WORKERS });

    expect(await transport.report(ended(action), never)).toEqual({
      kind: "gone",
      code: "FailedPrecondition",
      reason: "the server has no start of the action: the workflow was recreated",
      perhapsStale: true,
    });
    expect(anew.tasks[0]?.actions.map(({ state }) => state)).toEqual(["PENDING", "PENDING"]);
  });

  it("is retried without limit while the server is unreachable", async () => {
    const { server, transport, action } = await begun();
    await server.stop();

    const answer = await transport.report(ended(action), never);

    expect(answer).toMatchObject({ kind: "retry", code: "Unavailable" });
    expect(answer).not.toHaveProperty("perhapsRejected");
  });
});
