import { describe, expect, test, vi } from "vitest";
import { isOver } from "../../../simulators/tink/workflow.ts";
import {
  type Crash,
  type CrashEnd,
  type CrashOptions,
  isIdempotent,
  resultOf,
  runWithCrashes,
} from "./crash-world.ts";

vi.mock("node:fs/promises", () => import("../../support/virtual-disk.ts"));

const ACTIONS = ["power-off", "power-cycle", "power-on"];
const ONE = { connected: true, actions: ["power-cycle"] };
const CRASHES: readonly Crash[] = ["worker", "actions", "synced", "names"];

/** Which promises are broken. `isRepaired`: the next worker knows exactly what was done, so that the workflow succeeds. */
function broken({ workflow, commands, reports, left }: CrashEnd, isRepaired: boolean): readonly string[] {
  const actions = workflow.tasks.flatMap(({ actions }) => actions);
  const problems = left.map((what) => `left: ${what}`);
  if (!isOver(workflow)) problems.push(`the workflow is ${workflow.state}`);
  if (isRepaired && workflow.state !== "SUCCESS") problems.push(`the workflow is ${workflow.state}`);
  for (const { id, name, state, message } of actions) {
    const sent = commands.filter((command) => command === name).length;
    if (sent > 1 && (isRepaired || !isIdempotent(name)))
      problems.push(`${name} was carried out ${sent} times`);
    if (state === "SUCCESS" && sent === 0) problems.push(`${name} succeeded without a command`);
    if (state === "SUCCESS" && message !== resultOf(name)) problems.push(`${name} is reported as ${message}`);
    if (state === "FAILED" && (isIdempotent(name) || !message.endsWith("so it is not run again")))
      problems.push(`${name} failed: ${message}`);
    const ends = reports.filter(({ action, state }) => action.actionId === id && state !== "running");
    const different = new Set(ends.map((end) => `${end.state} ${end.message}`));
    if (different.size > 1) problems.push(`${name} ended in two ways: ${[...different].join(", ")}`);
    const ended = reports.findIndex(({ action, state }) => action.actionId === id && state !== "running");
    const again = reports.findLastIndex(({ action, state }) => action.actionId === id && state === "running");
    if (ended >= 0 && again > ended) problems.push(`${name} was started again after its end`);
  }
  return problems;
}

/** Runs the workflow once per step of its last worker, which dies there, after those that died `before`. */
async function brokenAtAnyStep(given: Omit<CrashOptions, "diesAt">, before: readonly number[] = []) {
  const whole = await runWithCrashes({ ...given, diesAt: before });
  const steps = whole.steps.at(-1) ?? [];
  const all: string[] = [];
  for (const [diesAt, name] of steps.entries()) {
    const end = await runWithCrashes({ ...given, diesAt: [...before, diesAt] });
    const isRepaired = given.crash === "worker" && given.connected && before.length === 0;
    all.push(
      ...broken(end, isRepaired).map((problem) => `${[...before, diesAt]} before ${name}: ${problem}`),
    );
  }
  return { steps, broken: all };
}

test("a worker takes these steps for an action, and can die before each of them", async () => {
  const { steps } = await runWithCrashes({ ...ONE, crash: "worker", diesAt: [] });

  expect(steps).toEqual([
    [
      "poll",
      'write "launching" of power-cycle',
      'rename "launching" of power-cycle',
      "report running of power-cycle",
      "answer to running of power-cycle",
      "create power-cycle",
      'write "launched" of power-cycle',
      'sync "launched" of power-cycle',
      'rename "launched" of power-cycle',
      "sync journal",
      "start power-cycle",
      "wait for power-cycle",
      'write "ended" of power-cycle',
      'sync "ended" of power-cycle',
      'rename "ended" of power-cycle',
      "sync journal",
      "report success of power-cycle",
      "answer to success of power-cycle",
      'write "acknowledged" of power-cycle',
      'rename "acknowledged" of power-cycle',
      "remove power-cycle",
      "poll",
    ],
  ]);
});

describe("when workers die, no action runs twice, none is lost, and the workflow ends", () => {
  test.each(CRASHES.flatMap((crash) => [true, false].map((connected) => ({ crash, connected }))))(
    "one at any step: $crash lost, connection from the worker: $connected",
    async (given) => {
      const { broken, steps } = await brokenAtAnyStep({ ...given, actions: ACTIONS });

      expect(broken).toEqual([]);
      expect(steps.length).toBeGreaterThan(ACTIONS.length * 15);
    },
  );

  test.each(CRASHES)("two, each at any step: %s lost", async (crash) => {
    const { steps } = await runWithCrashes({ ...ONE, crash, diesAt: [] });

    const pairs: string[] = [];
    for (const first of steps.flat().keys()) {
      pairs.push(...(await brokenAtAnyStep({ ...ONE, crash }, [first])).broken);
    }

    expect(pairs).toEqual([]);
  });
});
