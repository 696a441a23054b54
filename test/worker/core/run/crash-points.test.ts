import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { isOver } from "../../../../simulators/tink/workflow.ts";
import { type ActionStatus, actionKey } from "../../../../worker/core/action/action.ts";
import { dice } from "../../../support/dice.ts";
import { FAULTS, REPLICA_FAULTS } from "./fault-life.ts";
import { DELETED, isIdempotent, NO_IMAGE } from "./fault-runtime.ts";
import {
  type Crash,
  type Fault,
  type FaultEnd,
  type FaultOptions,
  type Faults,
  type ReplicaOptions,
  runReplicas,
  runWithFaults,
} from "./fault-world.ts";

vi.mock("node:fs/promises", () => import("../../../support/virtual-disk.ts"));

const ACTIONS = ["power-off", "power-cycle", "power-on"];
const ONE = { connected: true, workflows: [["power-cycle"]] };
const CRASHES: readonly Crash[] = ["worker", "state", "actions", "synced", "names", "torn"];

/** In the report of an action that is not idempotent and was lost. */
const UNKNOWN = "so it is not run again";

/** `PBNJ_SCHEDULES=100000` searches for longer, a small one less; `PBNJ_TEST_SEED` elsewhere. */
const SCHEDULES = Number(process.env["PBNJ_SCHEDULES"] ?? 200);
/** Every so many steps, the first of two workers dies. */
const STRIDE = Math.ceil(400 / SCHEDULES);

/** Replicas take twenty times as long: they renew leases and poll for minutes. */
const REPLICA_SCHEDULES = Math.ceil(SCHEDULES / 10);
const TIMEOUT_MS = 60_000 + 200 * SCHEDULES;

const faultsOf = (kinds: readonly Fault[]) =>
  fc
    .array(fc.tuple(fc.nat({ max: 120 }), fc.constantFrom(...kinds)), { maxLength: 6 })
    .map((each): Faults => new Map(each));

/** What happens at which step, or at the first one of a name. */
const at = (faults: Readonly<Record<number | string, Fault>>): Faults =>
  new Map(Object.entries(faults).map(([step, fault]) => [/^\d+$/.test(step) ? Number(step) : step, fault]));

const diesAt = (step: number): Faults => at({ [step]: "crash" });

/** Which promises are broken. `isRepaired`: the next worker knows exactly what was done, so that the workflow succeeds. */
function broken(end: FaultEnd, isRepaired: boolean): readonly string[] {
  const { workflows, commands, reports, left, failed, recreated } = end;
  // An end that the disk did not take is known to the server alone, should the power be lost now.
  const isUnrecorded = failed.some((step) => /"ended"|sync journal/.test(step));
  const problems = [...left.map((what) => `left: ${what}`), ...end.broken];
  for (const workflow of workflows) {
    if (!isOver(workflow)) problems.push(`the workflow is ${workflow.state}`);
    if (isRepaired && workflow.state !== "SUCCESS") problems.push(`the workflow is ${workflow.state}`);
    for (const { id, name, state, message } of workflow.tasks.flatMap(({ actions }) => actions)) {
      const isOwn = ({ action }: ActionStatus) => action.workflowId === workflow.id && action.actionId === id;
      const own = reports.filter(isOwn);
      const sent = commands.filter((key) => own.some(({ action }) => actionKey(action) === key)).length;
      if (sent > 1 && isRepaired) problems.push(`${name} was carried out ${sent} times`);
      // An earlier run with the same keys may have been carried out.
      const mayHaveBeen = recreated.has(workflow.id) ? 0 : sent;
      if (state === "FAILED" && !mayFail(name, message, mayHaveBeen))
        problems.push(`${name} failed: ${message}`);
      const ends = own.filter(({ state }) => state !== "running");
      const known = isUnrecorded ? ends.filter(({ message }) => !message.endsWith(UNKNOWN)) : ends;
      const different = new Set(known.map((end) => `${end.state} ${end.message}`));
      // Each run ends in its own way.
      if (different.size > 1 && !recreated.has(workflow.id))
        problems.push(`${name} ended in two ways: ${[...different].join(", ")}`);
    }
  }
  return problems;
}

function mayFail(name: string, message: string, sent: number): boolean {
  if (message.endsWith(NO_IMAGE)) return sent === 0 || isIdempotent(name);
  if (message.endsWith(DELETED)) return true;
  return !isIdempotent(name) && message.endsWith(UNKNOWN);
}

/** Runs the workflow once per step of its last worker, which dies there, after those that died `before`. */
async function brokenAtAnyStep(given: Omit<FaultOptions, "lives">, before: readonly number[] = []) {
  const whole = await runWithFaults({ ...given, lives: before.map(diesAt) });
  const steps = whole.steps.at(-1) ?? [];
  const all: string[] = [];
  for (const [last, name] of steps.entries()) {
    const end = await runWithFaults({ ...given, lives: [...before, last].map(diesAt) });
    const isRepaired = given.crash === "worker" && given.connected && before.length === 0;
    all.push(...broken(end, isRepaired).map((problem) => `${[...before, last]} before ${name}: ${problem}`));
  }
  return { steps, broken: all };
}

test("a worker takes these steps for an action, and can die before each of them", async () => {
  const { steps } = await runWithFaults({ ...ONE, crash: "worker", lives: [] });

  expect(steps).toEqual([
    [
      "poll",
      'write "launching" of power-cycle',
      'rename "launching" of power-cycle',
      "report running of power-cycle",
      "answer to running of power-cycle",
      "create power-cycle",
      'append "launched" of power-cycle',
      'sync "launched" of power-cycle',
      "sync journal",
      "start power-cycle",
      "wait for power-cycle",
      'append "ended" of power-cycle',
      'sync "ended" of power-cycle',
      "report success of power-cycle",
      "answer to success of power-cycle",
      'append "acknowledged" of power-cycle',
      "remove power-cycle",
      "poll",
    ],
  ]);
});

describe("when workers die, no action runs twice, none is lost, and the workflow ends", () => {
  test.each(CRASHES.flatMap((crash) => [true, false].map((connected) => ({ crash, connected }))))(
    "one at any step: $crash lost, connection from the worker: $connected",
    async (given) => {
      const { broken, steps } = await brokenAtAnyStep({ ...given, workflows: [ACTIONS] });

      expect(broken).toEqual([]);
      expect(steps.length).toBeGreaterThan(ACTIONS.length * 15);
    },
  );

  test.each(CRASHES)("two, each at any step: %s lost", async (crash) => {
    const { steps } = await runWithFaults({ ...ONE, crash, lives: [] });

    const pairs: string[] = [];
    for (let first = 0; first < steps.flat().length; first += STRIDE) {
      pairs.push(...(await brokenAtAnyStep({ ...ONE, crash }, [first])).broken);
    }

    expect(pairs).toEqual([]);
  });
});

type Schedule = FaultOptions & { readonly seed: number };

const schedule: fc.Arbitrary<Schedule> = fc.record({
  crash: fc.constantFrom(...CRASHES),
  connected: fc.boolean(),
  legacy: fc.boolean(),
  workflows: fc.array(fc.uniqueArray(fc.constantFrom(...ACTIONS), { minLength: 1, maxLength: 3 }), {
    minLength: 1,
    maxLength: 3,
  }),
  // A recreated workflow is another run only some time after the end of the one before.
  takesMs: fc.constantFrom(2_000, 20_000),
  lives: fc.array(faultsOf(FAULTS), { maxLength: 3 }),
  seed: fc.nat(),
});

/**
 * A server with an older state, or with a report that arrives late, serves again what has ended. A worker that lost its clock or
 * its directory cannot know. A loss of power takes no record of an end.
 */
function canRemember({ crash, lives }: Schedule): boolean {
  const kinds = new Set(lives.flatMap((faults) => [...faults.values()]));
  const has = (...some: readonly Fault[]) => some.some((kind) => kinds.has(kind));
  // Without its state directory, a worker knows only of what exists.
  if (crash === "state" && has("delete")) return false;
  // After a jump of the clock an end is repeated for an hour at least. The next worker has the right time again.
  if (has("forward", "back") && has("absent", "wall")) return false;
  const forgets = has("forward", "back") || (has("crash", "stop") && crash === "state");
  return !forgets || !has("restore", "delay", "late", "twice");
}

const CYCLE = { crash: "worker", connected: true, workflows: [["power-cycle"]], seed: 0 } as const;
const RUNS = "wait for power-cycle";
const ENDED = 'append "ended" of power-cycle';
const SYNCED = 'sync "ended" of power-cycle';
const TOLD = 'append "acknowledged" of power-cycle';
const REPORT = "report success of power-cycle";

/** Schedules that broke a promise once. */
const FOUND: readonly [Schedule][] = [
  // A refused final report counted as acknowledged.
  [{ ...CYCLE, lives: [at({ [REPORT]: "wall" })] }],
  // The deprecated API: a final report was given up after some answers of a store that took none.
  [{ ...CYCLE, legacy: true, lives: [at({ [REPORT]: "store" })] }],
  // The deprecated API: what had ended was removed, although its action had begun, and ran again.
  [{ ...CYCLE, crash: "state", legacy: true, lives: [at({ [RUNS]: "absent", [ENDED]: "crash" })] }],
  // A report was lost when the worker stopped.
  [{ ...CYCLE, lives: [at({ [SYNCED]: "absent", [REPORT]: "stop" })] }],
  // A clock that was set made the worker abandon a report.
  [{ ...CYCLE, lives: [at({ [SYNCED]: "forward", [REPORT]: "error" })] }],
  // A clock that was set made the worker forget an end, which an older state of the server brought back.
  [{ ...CYCLE, lives: [at({ [ENDED]: "keep", [TOLD]: "forward", "remove power-cycle": "restore" })] }],
  [
    {
      // An end was forgotten after some minutes.
      ...CYCLE,
      workflows: [["power-cycle", "power-on"]],
      lives: [
        at({
          [ENDED]: "keep",
          'write "launching" of power-on': "absent",
          "report running of power-on": "restore",
        }),
      ],
    },
  ],
  [
    {
      // An adoption that failed gave up the machine while the action still ran there.
      ...CYCLE,
      workflows: [["power-cycle"], ["power-off"]],
      takesMs: 20_000,
      lives: [at({ [RUNS]: "crash" }), at({ "adopt power-cycle": "error" })],
    },
  ],
  [
    {
      // What had ended was not removed if a full disk took neither its last entry nor the removal of the one before.
      crash: "worker",
      connected: true,
      workflows: [["power-off"], ["power-off", "power-on"], ["power-off"]],
      lives: [at({ 7: "error", 79: "error", 81: "late" })],
      seed: 0,
    },
  ],
  [
    {
      // A rejection that the next worker recorded replaced the end, which was on the disk, and was itself lost with the power.
      crash: "names",
      connected: false,
      workflows: [["power-off"]],
      lives: [at({ 6: "wall", 13: "crash" }), diesAt(5)],
      seed: 0,
    },
  ],
  [
    {
      // The end of an earlier run with the same IDs returned after a power loss, and was reported as that of the next run.
      crash: "synced",
      connected: true,
      legacy: true,
      workflows: [["power-off"], ["power-cycle"]],
      takesMs: 20_000,
      lives: [at({ 38: "recreate", 66: "crash" })],
      seed: 0,
    },
  ],
  [
    {
      // The simulation took the end of an action that had not begun as sent, although a proxy refused the question before it.
      crash: "worker",
      connected: false,
      legacy: true,
      workflows: [["power-off"], ["power-cycle", "power-off"]],
      lives: [at({ 9: "wall", 22: "crash" })],
      seed: 0,
    },
  ],
];

test("so it is with several workflows for one machine, where steps fail and workers die at random", {
  timeout: TIMEOUT_MS,
}, async () => {
  await fc.assert(
    fc.asyncProperty(schedule.filter(canRemember), async ({ seed, ...given }) => {
      vi.spyOn(Math, "random").mockImplementation(dice(seed));
      expect(broken(await runWithFaults(given), false)).toEqual([]);
    }),
    { numRuns: FOUND.length + SCHEDULES, examples: [...FOUND] },
  );
});

/** Replicas do not have the records of one another: what a server with an older state serves again, another one adopts. */
const NOT_OF_REPLICAS: readonly Fault[] = ["keep", "restore", "wall", "absent", "recreate", "store"];
const OF_REPLICAS = [...FAULTS, ...REPLICA_FAULTS].filter((kind) => !NOT_OF_REPLICAS.includes(kind));

const replicaSchedule: fc.Arbitrary<ReplicaOptions> = fc.record({
  connected: fc.boolean(),
  workflows: fc.array(fc.uniqueArray(fc.constantFrom(...ACTIONS), { minLength: 1, maxLength: 2 }), {
    minLength: 1,
    maxLength: 4,
  }),
  machines: fc.integer({ min: 1, max: 2 }),
  takesMs: fc.constantFrom(2_000, 40_000),
  replicas: fc.array(fc.array(faultsOf(OF_REPLICAS), { maxLength: 2 }), {
    minLength: 2,
    maxLength: 3,
  }),
  seed: fc.nat(),
});

/** Schedules of replicas that broke a promise once. */
const FOUND_OF_REPLICAS: readonly [ReplicaOptions][] = [
  [
    {
      // The answer to a Job's start was lost, and the Job was deleted before the retry, which counted as never started.
      connected: true,
      workflows: [["power-cycle"]],
      ...{ machines: 1, takesMs: 200, seed: 0 },
      replicas: [[at({ "start power-cycle": "late", 10: "delete" })], []],
    },
  ],
  [
    {
      // A replica that came back reported that an action was lost, which another one had ended.
      connected: true,
      workflows: [["power-cycle"], ["power-off"]],
      ...{ machines: 2, takesMs: 40_000, seed: 3 },
      replicas: [[at({ 14: "down" })], []],
    },
  ],
  [
    {
      // A replica that came back kept the entry of an action that another one had adopted.
      connected: true,
      workflows: [["power-off"], ["power-on", "power-off"], ["power-off"], ["power-off"]],
      ...{ machines: 2, takesMs: 40_000, seed: 1_275_737_656 },
      replicas: [[], [diesAt(73)]],
    },
  ],
  [
    {
      // An action was queued behind another one, while another replica ran it to its end.
      connected: false,
      workflows: [["power-off"], ["power-off", "power-on"], ["power-off"]],
      ...{ machines: 1, takesMs: 40_000, seed: 0 },
      replicas: [[diesAt(38)], [], []],
    },
  ],
  [
    {
      // An action was queued while its replica lost the agent ID, and got it back.
      connected: false,
      workflows: [["power-off"], ["power-off"], ["power-off"], ["power-off"]],
      ...{ machines: 1, takesMs: 2_000, seed: 1_615_901_097 },
      replicas: [[at({ 3: "suspend" })], [], [diesAt(47)]],
    },
  ],
  [
    {
      // A dead process's lease of a BMC was looked for only once, too early.
      connected: false,
      workflows: [["power-off"], ["power-off"]],
      ...{ machines: 1, takesMs: 2_000, seed: 0 },
      replicas: [[at({ 15: "suspend" })], [diesAt(22)]],
    },
  ],
  [
    {
      // A replica that woke up reported the start again, after another one had ended the action.
      connected: false,
      workflows: [["power-off"]],
      ...{ machines: 1, takesMs: 2_000, seed: 0 },
      replicas: [[at({ 1: "cut", 6: "pause" })], [], []],
    },
  ],
  [
    {
      // A replica whose disk was slow reported the start after another one had ended the action.
      connected: false,
      workflows: [["power-off"]],
      ...{ machines: 1, takesMs: 2_000, seed: 0 },
      replicas: [[at({ 1: "forward", 12: "pause" })], [at({ 1: "delay" })], []],
    },
  ],
  [
    {
      // An action waited in the turn of another one for the Job of that one, which was never started.
      connected: true,
      workflows: [["power-off"], ["power-off"]],
      ...{ machines: 1, takesMs: 2_000, seed: 1_171_888_903 },
      replicas: [[diesAt(7)], [diesAt(2)], []],
    },
  ],
  [
    {
      // A replica that woke up started the Job that it had made before, beside another one's.
      connected: true,
      workflows: [["power-off"], ["power-off"], ["power-off"], ["power-off"]],
      ...{ machines: 1, takesMs: 40_000, seed: 975_208_022 },
      replicas: [[at({ 8: "delay", 9: "away", 30: "suspend" })], []],
    },
  ],
  [
    {
      // An end that a replica keeps to itself was reported by its next process, long after another one had ended the action.
      connected: false,
      workflows: [["power-off"], ["power-off"], ["power-cycle"]],
      ...{ machines: 1, takesMs: 2_000, seed: 950_190_153 },
      replicas: [[at({ 42: "down" }), diesAt(6)], []],
    },
  ],
  [
    {
      // A leader died after its report was rejected. Another leader may have reported the end, so the next process waits until it is served.
      connected: false,
      workflows: [["power-off"], ["power-off"], ["power-off"]],
      ...{ machines: 2, takesMs: 2_000, seed: 1_516_342_418 },
      replicas: [[], [at({ 45: "refuse", 47: "crash" })]],
    },
  ],
  [
    {
      // A replica that lost the network repeated its report of a failure after another one had ended the action.
      connected: true,
      workflows: [["power-off"]],
      ...{ machines: 1, takesMs: 2_000, seed: 0 },
      replicas: [[at({ 5: "error", 8: "cut" })], []],
    },
  ],
];

test("so it is with replicas that share the agent IDs, when processes, leases and networks fail", {
  timeout: TIMEOUT_MS,
}, async () => {
  await fc.assert(
    fc.asyncProperty(replicaSchedule, async (given) => {
      vi.spyOn(Math, "random").mockImplementation(dice(given.seed));
      expect(broken(await runReplicas(given), false)).toEqual([]);
    }),
    { numRuns: FOUND_OF_REPLICAS.length + REPLICA_SCHEDULES, examples: [...FOUND_OF_REPLICAS] },
  );
});

test("a start that could not be recorded leaves no entry to the next worker", async () => {
  const given = { connected: false, workflows: [["power-cycle"]], crash: "worker" } as const;

  const { failed, workflows } = await runWithFaults({ ...given, lives: [at({ 4: "error", 6: "crash" })] });

  expect(failed).toEqual(["sync journal"]);
  expect(workflows.map(({ state }) => state)).toEqual(["SUCCESS"]);
});

test("what the runtime could not remove is removed within seconds", async () => {
  const given = { ...ONE, crash: "worker" } as const;
  const usual = await runWithFaults({ ...given, lives: [new Map()] });
  const removal = usual.steps[0]?.indexOf("remove power-cycle") ?? -1;

  const { failed, left, tookMs } = await runWithFaults({ ...given, lives: [new Map([[removal, "error"]])] });

  expect(failed).toEqual(["remove power-cycle"]);
  expect(left).toEqual([]);
  expect(tookMs - usual.tookMs).toBeLessThan(30_000);
});
