import { describe, expect, onTestFinished, test } from "vitest";
import { BmcError } from "../../../../shared/contract/bmc-error.ts";
import type { DesiredState } from "../../../../shared/contract/desired-state.ts";
import type { LogFields } from "../../../../shared/logger.ts";
import { raceAbort } from "../../../../shared/race-abort.ts";
import { type ActionEvent, seenAction } from "../../../../worker/core/action/observer.ts";
import type { Comparison } from "../../../../worker/features/drift/compare-machine.ts";
import { DriftWatch } from "../../../../worker/features/drift/drift-watch.ts";
import { Enforcer } from "../../../../worker/features/drift/enforcer.ts";
import type { Difference } from "../../../../worker/features/shared/drift-seen.ts";
import type { MachineNotice } from "../../../../worker/features/shared/facts.ts";
import { MachinePaused } from "../../../../worker/machines/pause.ts";
import { VirtualClock } from "../../../support/virtual-clock.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const power = (actual: string): Difference => ({
  ...{ setting: "power", field: "power", wanted: "on", actual },
  state: actual === "on" ? "same" : "different",
});
const ntp: Difference = {
  ...{ setting: "ntp", field: "ntp", wanted: ["a"], actual: ["b"], state: "different" },
};

const paused = { reason: "fan replacement", by: "inventory machines.yaml" };

interface LabOptions {
  readonly machines?: readonly string[];
  readonly answer?: (count: number, signal: AbortSignal) => Promise<Comparison> | Comparison;
  readonly random?: () => number;
}

/** A watch whose machines are as desired, unless `answer` says otherwise. */
function lab({ machines = ["node-1"], answer, random = () => 0 }: LabOptions = {}) {
  const clock = new VirtualClock();
  const stop = new AbortController();
  const comparisons: { machine: string; atMs: number }[] = [];
  const lines: string[] = [];
  const notices: string[] = [];
  const desired = new Map<string, DesiredState>(machines.map((name) => [name, { power: "on" }]));
  const ours = new Set(machines);
  const out = new Set<string>();
  let open = 0;
  let most = 0;
  const take = (fields: LogFields, message: string) => {
    lines.push(`${fields["machine"]} ${message}${fields["fields"] ? `: ${fields["fields"]}` : ""}`);
  };
  const notify = ({ machine, type, reason, message }: MachineNotice) => {
    notices.push(`${machine} ${type} ${reason}: ${message}`);
  };
  const log = { info: take, warn: take, error: take, debug: () => undefined };
  const enforcer = new Enforcer({
    ...{ image: "{action}", version: "1", quietMs: HOUR, clock, log, notify },
    isPaused: () => false,
    hasWorkflow: () => false,
    namespaceOf: () => undefined,
  });
  const watch = new DriftWatch({
    async compare(machine, _, signal) {
      comparisons.push({ machine, atMs: clock.monotonicMs() });
      open += 1;
      most = Math.max(most, open);
      try {
        return (await answer?.(comparisons.length, signal)) ?? { differences: [power("on")] };
      } finally {
        open -= 1;
      }
    },
    inventory: {
      machines: () =>
        ["other", ...desired.keys()].map((name) => ({
          name,
          lockKey: name,
          ...(out.has(name) && { paused }),
        })),
      desiredState: (name) => desired.get(name),
    },
    isOurs: (machine) => ours.has(machine),
    intervalMs: HOUR,
    onCompared: () => undefined,
    ...{ notify, enforcer, clock, log },
    random,
  });
  const running = watch.run(stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await running;
  });
  const pass = async (ms: number) => {
    const endMs = clock.monotonicMs() + ms;
    void clock.sleep(ms);
    await clock.until(() => clock.monotonicMs() >= endMs, ms);
  };
  return { watch, clock, comparisons, lines, notices, desired, ours, out, pass, most: () => most };
}

const action = seenAction({
  ...{ workflowId: "default/w", taskId: "t", agentId: "a", actionId: "x", name: "power-off", image: "i" },
});
const taken = (at: Date): ActionEvent => ({ kind: "taken", action, machine: "node-1", at });

describe("machines with a desired state", () => {
  test("are compared once per interval, spread over it, and others never", async () => {
    let next = 0;
    const { watch, comparisons, pass } = lab({
      machines: ["node-1", "node-2"],
      random: () => (next++ === 0 ? 0.25 : 0.75),
    });

    await pass(5 * HOUR);

    const first = new Map(comparisons.toReversed().map(({ machine, atMs }) => [machine, atMs / MINUTE]));
    expect(Object.fromEntries(first)).toEqual({ "node-1": 15, "node-2": 45 });
    expect(comparisons.length).toBeGreaterThanOrEqual(9);
    expect(comparisons.length).toBeLessThanOrEqual(11);
    expect(watch.find("node-1")).toMatchObject({ differences: [], comparedAt: expect.any(Date) });
    expect(watch.find("other")).toBeUndefined();
  });

  test("are left alone while they are paused, and compared as new ones afterwards", async () => {
    const { watch, comparisons, lines, out, pass } = lab({ machines: ["node-1", "node-2"] });
    await pass(10 * MINUTE);
    out.add("node-1");
    await pass(2 * MINUTE);
    comparisons.splice(0);

    await pass(5 * HOUR);
    expect(new Set(comparisons.map(({ machine }) => machine))).toEqual(new Set(["node-2"]));
    expect(watch.find("node-1")).toBeUndefined();
    out.delete("node-1");
    await pass(2 * HOUR);

    expect(watch.find("node-1")).toMatchObject({ differences: [] });
    expect(lines).toEqual([]);
  });

  test("are no failures if they are found to be paused just before they are read", async () => {
    const { comparisons, lines, pass, watch } = lab({
      answer(count) {
        if (count > 1) return { differences: [power("on")] };
        throw new MachinePaused("node-1", paused);
      },
    });

    await pass(2 * MINUTE);

    expect(comparisons.length).toBe(2);
    expect(watch.find("node-1")).not.toHaveProperty("error");
    expect(lines).toEqual([]);
  });

  test("are compared a few at a time", async () => {
    const gate = Promise.withResolvers<void>();
    const machines = Array.from({ length: 20 }, (_, index) => `m${index}`);
    const answer = async () => {
      await gate.promise;
      return { differences: [] };
    };
    const { clock, comparisons, most } = lab({ machines, answer });
    await clock.until(() => comparisons.length === 4, 1_000);
    gate.resolve();
    await clock.until(() => comparisons.length === 20, 1_000);

    expect(most()).toBe(4);
  });

  test("are logged and announced when other values differ than before, and when none does", async () => {
    const rounds: Comparison[] = [
      { differences: [power("on")] },
      { differences: [power("off")] },
      { differences: [power("off")] },
      { differences: [power("off"), ntp] },
      { differences: [power("on")] },
    ];
    const { watch, clock, comparisons, lines, notices, pass } = lab({
      answer: (count) => rounds[count - 1] ?? { differences: [power("on")] },
    });

    await clock.until(() => comparisons.length === 2, 2 * HOUR);
    await pass(1);
    expect(watch.find("node-1")?.differences).toEqual([power("off")]);
    await pass(5 * HOUR);

    expect(lines).toEqual([
      "node-1 machine drifted: power",
      "node-1 machine drifted: ntp,power",
      "node-1 machine drift ended",
    ]);
    expect(notices).toEqual([
      "node-1 Warning Drifted: differs from the desired state: power",
      "node-1 Warning Drifted: differs from the desired state: ntp, power",
      "node-1 Normal DriftEnded: is as desired again",
    ]);
    expect(watch.find("node-1")?.differences).toEqual([]);
  });

  test("are not compared while an action has the machine, and a comparison gives way to an action", async () => {
    const { watch, clock, comparisons, pass } = lab({
      answer: async (count, signal) => {
        if (count === 1) await raceAbort(new Promise<void>(() => undefined), signal);
        return { differences: [power("on")] };
      },
    });
    await clock.until(() => comparisons.length === 1, 1_000);

    watch.observer.action?.(taken(new Date(clock.now())));
    await pass(3 * HOUR);
    expect(comparisons).toHaveLength(1);
    watch.observer.action?.({ kind: "returned", action, at: new Date(clock.now()) });
    await pass(2 * MINUTE);

    expect(comparisons).toHaveLength(2);
    expect(watch.find("node-1")?.error).toBeUndefined();
  });

  test("are retried with longer pauses, at least once per interval, and logged once", async () => {
    const { watch, clock, comparisons, lines } = lab({
      answer: (count) => {
        if (count < 9) throw new BmcError("unreachable", "no route");
        return { differences: [power("on")] };
      },
    });

    await clock.until(() => comparisons.length === 8, 9 * HOUR);
    expect(watch.find("node-1")).toEqual({
      differences: [],
      error: { class: "unreachable", message: "no route" },
    });
    await clock.until(() => watch.find("node-1")?.error === undefined, 2 * HOUR);

    const waits = comparisons.map(({ atMs }, index) => (atMs - (comparisons[index - 1]?.atMs ?? 0)) / MINUTE);
    expect(waits).toEqual([0, 1, 2, 4, 8, 16, 32, 60, 60]);
    expect(lines).toEqual(["node-1 comparing machine failed, retrying"]);
  });

  test("keep what differed while it cannot be read", async () => {
    const error = new BmcError("bmc", "ntp: error 500");
    const { watch, lines, pass } = lab({
      answer: (count) =>
        count === 1 ? { differences: [power("off"), ntp] } : { differences: [power("off")], error },
    });

    await pass(2 * HOUR);

    expect(watch.find("node-1")).toMatchObject({ differences: [ntp, power("off")], error: { class: "bmc" } });
    expect(lines.filter((line) => line.includes("drift"))).toHaveLength(1);
  });

  test("are forgotten with their entry, compared anew with another one, and left to the replica that has them", async () => {
    const { watch, comparisons, desired, ours, pass } = lab({ machines: ["node-1", "node-2", "node-3"] });
    await pass(MINUTE / 2);
    expect(comparisons).toHaveLength(3);

    desired.delete("node-1");
    desired.set("node-2", { power: "off" });
    ours.delete("node-3");
    await pass(2 * MINUTE);
    expect(watch.find("node-1")).toBeUndefined();
    expect(comparisons.slice(3)).toMatchObject([{ machine: "node-2" }]);
    await pass(3 * HOUR);

    expect(watch.find("node-3")).toBeUndefined();
    expect(comparisons.filter(({ machine }) => machine !== "node-2")).toHaveLength(2);
  });
});
