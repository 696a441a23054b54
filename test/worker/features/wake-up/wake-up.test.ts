import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Clock, systemClock } from "../../../../shared/clock.ts";
import { silentLogger } from "../../../../shared/logger.ts";
import { isWorkflowDeleted } from "../../../../worker/core/action/action.ts";
import { WakeUp } from "../../../../worker/features/wake-up/wake-up.ts";
import { watchedWorkflow } from "../../../../worker/features/wake-up/watched-workflow.ts";
import type { Cluster } from "../../../../worker/kubernetes/client/cluster.ts";
import { type FakeClusterLab, openFakeCluster } from "../../../support/fake-cluster.ts";
import { scaledClock } from "../../../support/scaled-clock.ts";

const WITHIN = { timeout: 15_000, interval: 10 };
const WORKFLOWS = ["tinkerbell.org/v1alpha1", "Workflow"] as const;

let there: FakeClusterLab;
let fake: FakeClusterLab["fake"];
let cluster: Cluster;
let stop: AbortController;
let running: Promise<void>;

beforeEach(async () => {
  there = await openFakeCluster();
  fake = there.fake;
  cluster = await there.connect();
  stop = new AbortController();
  running = Promise.resolve();
});
afterEach(async () => {
  stop.abort();
  await running;
  await there[Symbol.asyncDispose]();
});

function wakeUp(clock: Clock = systemClock): WakeUp {
  const waking = new WakeUp({ cluster, namespace: "default", clock, log: silentLogger });
  running = waking.run(stop.signal);
  return waking;
}

async function watching(clock?: Clock): Promise<WakeUp> {
  const waking = wakeUp(clock);
  await vi.waitFor(() => expect(waking.isWatching).toBe(true), WITHIN);
  return waking;
}

function workflow(name: string, status: Readonly<Record<string, unknown>>): void {
  if (!fake.get(...WORKFLOWS, name, "default")) {
    fake.create(...WORKFLOWS, { metadata: { namespace: "default", name }, spec: { templateRef: "t" } });
  }
  fake.patchStatus(...WORKFLOWS, name, status, "default");
}

describe("a workflow waits for", () => {
  it.each([
    ["the agent that the controller wrote", { state: "PENDING", agentID: "a" }, ["a"]],
    ["the same while it runs", { state: "RUNNING", agentID: "a", tasks: [{ worker: "b" }] }, ["a"]],
    [
      "all of its workers, as tink 0.12 writes it",
      { state: "STATE_RUNNING", tasks: [{ worker: "a" }, { worker: "b" }] },
      ["a", "b"],
    ],
    ["no agent while it is prepared", { state: "PREPARING", agentID: "a" }, []],
    ["no agent once it has succeeded", { state: "SUCCESS", agentID: "a" }, []],
    ["no agent once it has failed", { state: "FAILED", agentID: "a", tasks: [{ name: "bmc" }] }, []],
    ["no agent without a status", {}, []],
  ] as const)("is %s", (_, status, expected) => {
    expect(watchedWorkflow({ metadata: {}, status }).agents).toEqual(expected);
  });
});

const TASKS = [{ id: "1", name: "bmc", agentID: "a", actions: [] }];

describe("waking up", () => {
  it("counts the ended workflows by the agent ID whose polls they may end", async () => {
    workflow("old", { state: "SUCCESS", agentID: "a", tasks: TASKS });
    workflow("failed", { state: "FAILED", agentID: "a", tasks: TASKS });
    workflow("without-tasks", { state: "FAILED", agentID: "a" });
    workflow("open", { state: "PENDING", agentID: "a", tasks: TASKS });
    const waking = await watching();

    expect([waking.blocking("a"), waking.blocking("b")]).toEqual([2, 0]);

    fake.remove(...WORKFLOWS, "old", "default");
    workflow("open", { state: "SUCCESS" });
    fake.remove(...WORKFLOWS, "failed", "default");
    await vi.waitFor(() => expect(waking.now("a")).toBeUndefined(), WITHIN);
    await vi.waitFor(() => expect(waking.blocking("a")).toBe(1), WITHIN);
  });

  it("knows for which agent IDs a workflow has not ended, whichever task is next", async () => {
    const tasks = [{ worker: "bmc" }, { agentID: "os" }];
    const waking = await watching();
    const open = () => ["bmc", "os", "other"].filter((agentId) => waking.hasOpen(agentId));
    expect(open()).toEqual([]);

    for (const state of ["PREPARING", "RUNNING", "POST"]) {
      workflow("w", { state, agentID: "os", tasks });
      await vi.waitFor(() => expect(open()).toEqual(["bmc", "os"]), WITHIN);
      expect([...waking.named()].toSorted()).toEqual(["bmc", "os"]);
    }
    workflow("w", { state: "TIMEOUT", agentID: "os", tasks });

    await vi.waitFor(() => expect(open()).toEqual([]), WITHIN);
  });

  it("happens at once for the agent that a workflow is addressed to, and for no other", async () => {
    const waking = await watching();
    const woken: string[] = [];
    for (const agent of ["a", "b"])
      void waking.wait(agent, stop.signal).then((why) => woken.push(`${agent} ${why}`));

    workflow("w", { state: "PENDING", agentID: "a" });

    await vi.waitFor(() => expect(woken).toEqual(["a addressed"]), WITHIN);
    expect(waking.now("b")).toBeUndefined();
    expect(waking.now("a")).toBe("addressed");
  });

  it("ends when the workflow continues with another agent, or ends", async () => {
    workflow("w", { state: "RUNNING", agentID: "a" });
    const waking = await watching();
    expect(waking.now("a")).toBe("addressed");

    workflow("w", { state: "RUNNING", agentID: "b" });
    await vi.waitFor(() => expect(waking.now("a")).toBeUndefined(), WITHIN);
    expect(waking.now("b")).toBe("addressed");

    workflow("w", { state: "SUCCESS", agentID: "b" });
    await vi.waitFor(() => expect(waking.now("b")).toBeUndefined(), WITHIN);
  });

  it("stays for an agent with another open workflow", async () => {
    workflow("v", { state: "PENDING", agentID: "a" });
    workflow("w", { state: "PENDING", agentID: "a" });
    const waking = await watching();

    fake.remove(...WORKFLOWS, "v", "default");
    workflow("x", { state: "PENDING", agentID: "b" });
    await vi.waitFor(() => expect(waking.now("b")).toBe("addressed"), WITHIN);

    expect(waking.now("a")).toBe("addressed");
  });

  it("happens rarely for an agent without a workflow", async () => {
    const waking = await watching(scaledClock(2_000));

    expect(await waking.wait("a", stop.signal)).toBe("rarely");
  });

  it("polls continuously while the watch fails", async () => {
    const waking = await watching(scaledClock(100));
    const waiting = waking.wait("a", stop.signal);

    await fake.stop();

    expect(await waiting).toBe("unknown");
    expect(waking.now("a")).toBe("unknown");
  });

  it("polls continuously without the right to watch", async () => {
    await there.allow([]);
    cluster = await there.connect();

    expect(await wakeUp(scaledClock(10)).wait("a", stop.signal)).toBe("unknown");
  });

  it("polls continuously, with a warning, when the server serves an unwatched workflow", async () => {
    const said: unknown[] = [];
    const log = {
      ...silentLogger,
      warn: (fields: object, message: string) => said.push({ ...fields, message }),
    };
    const waking = new WakeUp({ cluster, namespace: "default", clock: scaledClock(100), log });
    running = waking.run(stop.signal);
    await vi.waitFor(() => expect(waking.isWatching).toBe(true), WITHIN);
    workflow("w", { state: "SUCCESS", agentID: "a" });

    waking.served({ workflowId: "default/w" }, "rarely");
    waking.served({ workflowId: "elsewhere/w" }, "addressed");
    waking.served({ workflowId: "elsewhere/w" }, "rarely");

    await vi.waitFor(() => expect(waking.now("a")).toBe("unknown"), WITHIN);
    expect(said).toEqual([
      {
        workflow: "elsewhere/w",
        watched: "default",
        message: "workflow outside watched namespaces, lanes poll continuously",
      },
    ]);
  });

  it("ends with the lane", async () => {
    const waking = await watching();
    const lane = new AbortController();
    const waiting = waking.wait("a", lane.signal);
    lane.abort();
    expect(await waiting).toBe("unknown");
  });
});

describe("the workflow of an action", () => {
  const tasksOf = (...ids: readonly string[]) => [
    {
      id: "t",
      name: "t",
      agentID: "a",
      actions: ids.map((id) => ({ id, name: id, image: "i", timeout: 60 })),
    },
  ];
  const OPEN = { state: "RUNNING", agentID: "a", tasks: tasksOf("1", "2") };
  const actionOf = (actionId: string, workflowId = "default/w") => ({
    ...{ workflowId, actionId, taskId: "t", agentId: "a", name: "power-off" },
  });

  async function watched(actionId = "1") {
    workflow("w", OPEN);
    const waking = await watching();
    return { waking, signal: waking.cancelOf(actionOf(actionId)) };
  }

  it("cancels it when deleted", async () => {
    const { signal } = await watched();

    fake.remove(...WORKFLOWS, "w", "default");

    await vi.waitFor(() => expect(signal.aborted).toBe(true), WITHIN);
    expect(isWorkflowDeleted(signal)).toBe(true);
  });

  it("cancels it when deleted after its end", async () => {
    const { signal } = await watched("2");
    fake.patchStatus(...WORKFLOWS, "w", { state: "TIMEOUT" }, "default");

    fake.remove(...WORKFLOWS, "w", "default");

    await vi.waitFor(() => expect(signal.aborted).toBe(true), WITHIN);
  });

  it("cancels it when recreated under the same name during a disconnect of the watch", async () => {
    const { signal } = await watched();
    await fake.stop();
    fake.remove(...WORKFLOWS, "w", "default");
    workflow("w", { ...OPEN, tasks: tasksOf("3") });

    await fake.restart({ expire: true });

    await vi.waitFor(() => expect(signal.aborted).toBe(true), WITHIN);
  });

  it("cancels it when deleted, also if the watch showed it later than the server", async () => {
    const waking = await watching();
    const signal = waking.cancelOf(actionOf("1"));
    workflow("w", OPEN);
    await vi.waitFor(() => expect(waking.now("a")).toBe("addressed"), WITHIN);
    const before = signal.aborted;

    fake.remove(...WORKFLOWS, "w", "default");

    await vi.waitFor(() => expect(signal.aborted).toBe(true), WITHIN);
    expect(before).toBe(false);
  });

  it("does not cancel an action that the watch does not show", async () => {
    workflow("w", OPEN);
    const waking = await watching();
    const signals = [waking.cancelOf(actionOf("3")), waking.cancelOf(actionOf("1", "elsewhere/w"))];

    fake.remove(...WORKFLOWS, "w", "default");

    await vi.waitFor(() => expect(waking.now("a")).toBeUndefined(), WITHIN);
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, false]);
  });

  it("does not cancel it while the workflow continues", async () => {
    const { waking, signal } = await watched();
    workflow("w", { ...OPEN, state: "SUCCESS" });
    workflow("v", { state: "PENDING", agentID: "b" });
    await vi.waitFor(() => expect(waking.now("b")).toBe("addressed"), WITHIN);

    expect(signal.aborted).toBe(false);
  });
});
