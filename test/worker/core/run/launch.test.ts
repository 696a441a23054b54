import { describe, expect, it, vi } from "vitest";
import { BmcError } from "../../../../shared/contract/bmc-error.ts";
import { type Action, actionKey, type Outcome } from "../../../../worker/core/action/action.ts";
import { MemoryJournal } from "../../../../worker/core/action/action-journal.ts";
import { type ActionEvent, noObserver } from "../../../../worker/core/action/observer.ts";
import {
  Detached,
  type EarlierRun,
  LaunchNotRecorded,
  type LaunchRequest,
  NotLaunched,
  type Runtime,
} from "../../../../worker/core/ports/runtime.ts";
import { BEGUN, TO_BEGIN } from "../../../../worker/features/legacy/legacy-messages.ts";
import { scaledClock } from "../../../support/scaled-clock.ts";
import { scriptedRequest, testConnection } from "../../runtimes/launch-request.ts";
import { briefRuntime, executorLab, type LabOptions, TARGET } from "./executor-lab.ts";

/** Launches actions on a runtime that records the requests; `run` decides how they end. */
function lab(
  run: (request: LaunchRequest) => Promise<Partial<Outcome>>,
  more: LabOptions = {},
  runtimeMore: Partial<Runtime> = {},
) {
  const requests: LaunchRequest[] = [];
  const events: ActionEvent[] = [];
  const journal = new MemoryJournal();
  const clock = scaledClock(50);
  const sleep = vi.spyOn(clock, "sleep");
  const runtime: Runtime = {
    ...briefRuntime(),
    ...runtimeMore,
    async run(request) {
      requests.push(request);
      const times = { startedAt: new Date(), stoppedAt: new Date(), timedOut: false, killed: false };
      const outcome = { ok: true, message: "done", exitCode: 0, ...times, ...(await run(request)) };
      return { outcome, remove: async () => undefined };
    },
  };
  const observer = { ...noObserver, action: (event: ActionEvent) => void events.push(event) };
  const given = executorLab(runtime, journal, observer, { clock, ...more });
  const launch = (action: Partial<Action> = {}) => {
    const whole = scriptedRequest([], { action }).request.action;
    const phase = () => journal.find(actionKey(whole))?.phase;
    return { outcome: given.executor.execute(whole, given.signals), phase };
  };
  return { ...given, clock, events, launch, requests, sleep };
}

describe("an action whose ID an earlier run had", () => {
  const RETURNED = { returningIds: TO_BEGIN } as const;
  const earlierLab = (earlier: Partial<EarlierRun> | Error) => {
    const removed: string[] = [];
    const given = lab(
      async () => {
        removed.push("run");
        return {};
      },
      {},
      {
        earlierRun: async () => {
          if (earlier instanceof Error) throw earlier;
          const remove = async () => void removed.push("removed");
          return { hasEnded: true, ageMs: 60_000, handle: {}, remove, ...earlier };
        },
      },
    );
    return { ...given, removed };
  };

  it("is launched when that run is removed, before its start is reported", async () => {
    const { launch, removed } = earlierLab({});

    expect(await launch(RETURNED).outcome).toMatchObject({ ok: true });
    expect(removed).toEqual(["removed", "run"]);
  });

  it.each([
    ["that has not ended", { hasEnded: false }],
    ["that is as young as a server's cache", { ageMs: 14_999 }],
    ["that the runtime cannot look for", new Error("no engine")],
  ])("%s is returned to the server, without a report", async (_, earlier) => {
    const { launch, removed, reports } = earlierLab(earlier);

    expect(await launch(RETURNED).outcome).toBeUndefined();
    expect([removed, reports]).toEqual([[], []]);
  });

  it("is launched once that run was seen for longer than a server's cache lasts, if its clock was ahead", async () => {
    const { launch, removed, clock } = earlierLab({ ageMs: -86_400_000 });
    const action = { ...RETURNED, workflowId: "default/w", actionId: "0/bmc/power-on" };

    for (const pauseMs of [0, 5_000, 12_000]) {
      await clock.sleep(pauseMs);
      expect(await launch(action).outcome).toBeUndefined();
    }
    expect(removed).toEqual([]);
    expect(await launch(action).outcome).toMatchObject({ ok: true });

    expect(removed).toEqual(["removed", "run"]);
  });

  it.each([
    ["the server has its start", { returningIds: BEGUN } as const],
    ["its ID cannot return", {}],
  ])("is launched without looking if %s: the runtime adopts what exists", async (_, action) => {
    const { launch, removed } = earlierLab({});

    expect(await launch(action).outcome).toMatchObject({ ok: true });
    expect(removed).toEqual(["run"]);
  });
});

describe("an action whose launch does not end with an outcome", () => {
  it("is left to the next worker when this one detaches", async () => {
    const { events, launch, reports } = lab(async ({ onLaunch }) => {
      await onLaunch?.({ pid: 1 });
      throw new Detached();
    });
    const { outcome, phase } = launch();

    expect(await outcome).toBeUndefined();
    expect(phase()).toBe("launched");
    expect(reports.map(({ state }) => state)).toEqual(["running"]);
    expect(events).toContainEqual(expect.objectContaining({ kind: "started", machine: "m1" }));
  });

  it("is not forgotten after a defect, because it may have acted", async () => {
    const { launch } = lab(async ({ onLaunch }) => {
      await onLaunch?.({ pid: 1 });
      throw new TypeError("a defect");
    });
    const { outcome, phase } = launch();

    await expect(outcome).rejects.toThrow("a defect");
    expect(phase()).toBe("launched");
  });

  it.each([
    ["at once if nothing was launched", new NotLaunched("another replica has its agent ID"), 0],
    ["after a pause if the disk is full", new LaunchNotRecorded("ENOSPC"), 1],
  ])("is served again %s", async (_, thrown, pauses) => {
    const { launch, sleep } = lab(() => Promise.reject(thrown));
    const { outcome, phase } = launch();

    expect(await outcome).toBeUndefined();
    expect(phase()).toBeUndefined();
    expect(sleep.mock.calls.filter(([ms]) => ms === 5_000)).toHaveLength(pauses);
  });

  it("is not launched if the worker stops leading while its credentials are read", async () => {
    let isLeading = true;
    const connect = async () => {
      isLeading = false;
      return testConnection();
    };
    const { launch, requests } = lab(async () => ({}), {
      isLeading: () => isLeading,
      locate: () => ({ ...TARGET, connect }),
    });
    const { outcome, phase } = launch();

    expect(await outcome).toBeUndefined();
    expect(phase()).toBeUndefined();
    expect(requests).toEqual([]);
  });
});

describe("the credentials of a launch", () => {
  it("fail the action if they cannot be read", async () => {
    const connect = () => Promise.reject(new BmcError("auth", "no such Secret"));
    const { launch, requests } = lab(async () => ({}), { locate: () => ({ ...TARGET, connect }) });

    expect(await launch().outcome).toMatchObject({ ok: false, class: "auth", message: "no such Secret" });
    expect(requests).toEqual([]);
  });

  it("that the BMC refused are not tried by the next action", async () => {
    const refused = { ok: false, class: "auth", exitCode: 10 } as const;
    const { launch, requests } = lab(async () => refused);
    await launch().outcome;

    expect(await launch().outcome).toMatchObject({ ok: false, class: "auth" });
    expect(requests).toHaveLength(1);
  });
});

describe("an action whose image takes long", () => {
  it.each<[string, LabOptions]>([
    ["its machine is paused", { locate: () => ({ ...TARGET, paused: "machine m1 is paused: new disks" }) }],
    ["its BMC gets another address", { locate: () => ({ ...TARGET, lockKey: "192.0.2.9" }) }],
    ["the inventory loses it", { locate: () => ({ ok: false, reason: "no such machine" }) }],
    ["the policy changes", { locate: () => ({ ok: false, reason: "policy images: not allowed" }) }],
    ["another worker leads", { isLeading: () => false }],
  ])("does nothing if %s meanwhile", async (_, after) => {
    let isPulled = false;
    const acted: string[] = [];
    const now = (): LabOptions => (isPulled ? after : {});
    const { launch } = lab(
      async ({ action, onLaunch }) => {
        isPulled = true;
        await onLaunch?.({ container: "1" });
        acted.push(action.actionId);
        return {};
      },
      {
        locate: (action) => now().locate?.(action) ?? TARGET,
        isLeading: () => now().isLeading?.() ?? true,
      },
    );

    expect(await launch().outcome).toBeUndefined();
    expect(acted).toEqual([]);
  });
});

it("a hook runs even if its machine is paused meanwhile, because its action began before", async () => {
  let isPaused = false;
  const readings: unknown[] = [];
  const { launch, requests } = lab(
    async ({ action }) => {
      isPaused = true;
      return action.command.includes("hook") ? {} : { ok: false, class: "bmc", exitCode: 1 };
    },
    {
      locate: () => ({
        ...TARGET,
        ...(isPaused && { paused: "machine m1 is paused: new disks" }),
        async connect({ whilePaused }) {
          readings.push(whilePaused);
          return testConnection();
        },
      }),
    },
  );

  await launch({ onFailure: ["hook"] }).outcome;

  expect(requests.map(({ action }) => action.command)).toEqual([[], ["hook"]]);
  expect(readings).toEqual([undefined, true]);
});

it("a hook runs even if the worker does not lead any more, because its action was this worker's", async () => {
  let isLeading = true;
  const { launch, reports, requests } = lab(
    async ({ action }) => {
      isLeading = false;
      return action.command.includes("hook") ? {} : { ok: false, class: "bmc", exitCode: 1 };
    },
    { isLeading: () => isLeading },
  );
  await launch({ onFailure: ["hook"] }).outcome;

  expect(requests.map(({ action }) => action.command)).toEqual([[], ["hook"]]);
  expect(reports.at(-1)?.message).toMatch(/on-failure succeeded: done$/);
});

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
