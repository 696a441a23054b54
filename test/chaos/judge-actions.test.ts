import { expect, test } from "vitest";
import { type Evidence, judgeActions } from "./judge-actions.ts";
import type { ActionRecord, MachineRecord, PowerCommandName } from "./records.ts";

const SECOND = 1_000;

/** An action that was started at `from` and succeeded at `to`, in seconds. */
function action(name: string, from: number, to: number, more: Partial<ActionRecord> = {}): ActionRecord {
  return {
    workflow: "chaos-1",
    index: 0,
    agentId: "pbnj-node-1",
    machine: "node-1",
    name,
    environment: { MODE: "hard", OFF_DURATION: "0s" },
    startedAt: [from * SECOND],
    ends: [{ at: to * SECOND, state: "SUCCESS", message: "done" }],
    ...more,
  };
}

/** What was done to the machine, each at its second, and what its power was from when on. */
function machine(
  commands: readonly (readonly [number, PowerCommandName])[],
  power: readonly (readonly [number, "on" | "off"])[],
  more: Partial<MachineRecord> = {},
): MachineRecord {
  return {
    name: "node-1",
    commands: commands.map(([at, name]) => ({ at: at * SECOND, action: name })),
    power: power.map(([at, state]) => ({ at: at * SECOND, state })),
    overrides: [{ at: 0, device: "none", enabled: "disabled" }],
    boots: [],
    sessions: 0,
    ...more,
  };
}

function judge(actions: readonly ActionRecord[], at: MachineRecord, more: Partial<Evidence> = {}) {
  const workflows = [{ name: "chaos-1", state: "SUCCESS" }];
  const none = new Set<string>();
  const nothing = { interruptions: new Map(), sharedMachines: none, pendingReports: none, longJumps: [] };
  const evidence = { workflows, actions, machines: [at], ...nothing, ...more };
  return judgeActions(evidence).map(({ rule, text }) => `${rule}: ${text}`);
}

const failed = (at: number, message = "failed") => ({
  ends: [{ at: at * SECOND, state: "FAILED", message }],
});

test("finds nothing where each command belongs to an action and each success has happened", () => {
  const actions = [
    action("power-off", 10, 12),
    action("set-pxe-once", 12, 13, { index: 1 }),
    action("power-on", 13, 15, { index: 2 }),
    action("power-cycle", 20, 25, { workflow: "chaos-2" }),
  ];
  const at = machine(
    [
      [11, "off"],
      [14, "on"],
      [21, "cycle"],
    ],
    [
      [0, "on"],
      [11, "off"],
      [14, "on"],
    ],
    {
      overrides: [
        { at: 0, device: "none", enabled: "disabled" },
        { at: 12.5 * SECOND, device: "pxe", enabled: "once" },
      ],
      boots: [{ at: 14 * SECOND, device: "pxe", overridden: true }],
    },
  );

  expect(judge(actions, at)).toEqual([]);
});

test("finds a cycle that was done twice in one action", () => {
  const at = machine(
    [
      [11, "cycle"],
      [14, "cycle"],
    ],
    [[0, "on"]],
  );

  expect(judge([action("power-cycle", 10, 20, { startedAt: [10_000, 13_000], ...failed(20) })], at)).toEqual([
    "no command more often than its action: chaos-1/1-power-cycle (node-1) had node-1 do cycle, cycle, started 2 times",
  ]);
});

test("finds a command that no action was there for", () => {
  const at = machine([[30, "off"]], [[0, "on"]]);

  expect(judge([action("power-on", 10, 20)], at)).toEqual([
    "no command without its action: node-1 was told off at 00:00:30.000, when no action was at it",
  ]);
});

test.each([
  ["power-off", "succeeded, but node-1 was on"],
  ["power-cycle", "succeeded, but node-1 did nothing"],
  ["set-pxe-once", "succeeded, but the boot override was none disabled"],
])("finds a success of %s that has not happened", (name, text) => {
  expect(judge([action(name, 10, 20)], machine([], [[0, "on"]]))).toEqual([
    `success means that it happened: chaos-1/1-${name} (node-1) ${text}`,
  ]);
});

test("finds a whole workflow after which the machine did not boot from the network", () => {
  const actions = [
    action("power-off", 10, 12),
    action("set-pxe-once", 12, 13, { index: 1 }),
    action("power-on", 13, 15, { index: 2 }),
  ];
  const at = machine(
    [
      [11, "off"],
      [14, "on"],
    ],
    [
      [0, "on"],
      [11, "off"],
      [14, "on"],
    ],
    {
      overrides: [{ at: 12 * SECOND, device: "pxe", enabled: "once" }],
      boots: [{ at: 14 * SECOND, device: "disk", overridden: false }],
    },
  );

  expect(judge(actions, at)).toEqual([
    "success means that it happened: chaos-1 succeeded, but node-1 booted disk",
  ]);
  const between = action("power-cycle", 9, 13, { workflow: "chaos-2", ends: [] });
  expect(judge([...actions, between], at).join()).not.toContain("booted disk");
});

test("finds an action that was started after its end, and one with two ends", () => {
  const twice = action("power-on", 10, 12, {
    startedAt: [10_000, 13_000],
    ends: [
      { at: 12_000, state: "SUCCESS", message: "already on" },
      { at: 14_000, state: "FAILED", message: "lost" },
    ],
  });

  expect(judge([twice], machine([], [[0, "on"]]))).toEqual([
    "an action that ended is not run again: chaos-1/1-power-on (node-1) was started after its end",
    "one end an action: chaos-1/1-power-on (node-1) ended as SUCCESS: already on and as FAILED: lost",
  ]);
});

test("finds two actions at one machine at a time, unless a worker ended and left one behind", () => {
  const actions = [action("power-on", 10, 30), action("power-on", 20, 25, { workflow: "chaos-2" })];
  const at = machine([], [[0, "on"]]);

  expect(judge(actions, at)).toEqual([
    "one action a machine at a time: chaos-2/1-power-on (node-1) began while chaos-1/1-power-on (node-1) was at node-1",
  ]);
  expect(judge(actions, at, { interruptions: new Map([["node-1", [15_000]]]) })).toEqual([]);
  expect(judge(actions, at, { pendingReports: new Set(["chaos-1/1-power-on"]) })).toEqual([]);
});

test("finds a workflow that does not end", () => {
  const workflows = [{ name: "chaos-9", state: "RUNNING" }];

  expect(judge([], machine([], [[0, "on"]]), { workflows })).toEqual([
    "every workflow ends: chaos-9 is RUNNING",
  ]);
});
