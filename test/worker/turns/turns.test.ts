import { expect, test } from "vitest";
import { ActionSlots } from "../../../worker/turns/action-slots.ts";
import { type LockPurpose, MachineLocks, TurnRefused } from "../../../worker/turns/machine-locks.ts";
import { Turns } from "../../../worker/turns/turns.ts";

const never = new AbortController().signal;
const settled = () => new Promise((resolve) => setImmediate(resolve));

/** Turns, and work that lasts until it is ended by hand. */
function lab(slotLimit = 8) {
  const slots = new ActionSlots(slotLimit);
  const turns = new Turns(new MachineLocks(), slots);
  const working: string[] = [];
  const work = (name: string) => {
    const end = Promise.withResolvers<void>();
    const run = async () => {
      working.push(name);
      await end.promise;
      working.splice(working.indexOf(name), 1);
      return name;
    };
    return { run, end: end.resolve, fail: end.reject };
  };
  return { slots, turns, work, working };
}

test.each([
  [
    "one machine whose BMC has another address",
    { machine: "m1", lockKey: "a" },
    { machine: "m1", lockKey: "b" },
  ],
  ["two machines with one BMC", { machine: "m1", lockKey: "a" }, { machine: "m2", lockKey: "a" }],
  ["a machine, and a BMC without a name", { machine: "m1", lockKey: "a" }, { lockKey: "a" }],
  ["a machine without a BMC", { machine: "m1" }, { machine: "m1", lockKey: "a" }],
])("%s: one action at a time", async (_, place, other) => {
  const { turns, work, working } = lab();
  const [first, second] = [work("first"), work("second")];
  const results = [turns.take(place, never, first.run)];
  await settled();
  results.push(turns.take(other, never, second.run));

  await settled();
  expect(working).toEqual(["first"]);
  first.end();
  await settled();
  expect(working).toEqual(["second"]);
  second.end();

  expect(await Promise.all(results)).toEqual(["first", "second"]);
});

test("machine and BMC of the same name are different locks", async () => {
  const { turns, work, working } = lab();

  void turns.take({ machine: "a" }, never, work("first").run);
  void turns.take({ lockKey: "a" }, never, work("second").run);
  await settled();

  expect(working).toEqual(["first", "second"]);
});

test("an action that fails releases its machine, its BMC and its slot", async () => {
  const { slots, turns, work } = lab(1);
  const place = { machine: "m1", lockKey: "a" };
  const first = work("first");

  const failing = turns.take(place, never, first.run);
  await settled();
  expect(slots.taken).toBe(1);
  first.fail(new Error("no"));
  await expect(failing).rejects.toThrow("no");

  expect(slots.taken).toBe(0);
  expect(await turns.take(place, never, async () => "second")).toBe("second");
});

test("an action that stops waiting does not run, and releases what it had", async () => {
  const { turns, work, working } = lab(1);
  const stop = new AbortController();
  const first = work("first");
  const running = turns.take({ machine: "m1" }, never, first.run);
  await settled();

  const waiting = turns.take({ machine: "m2", lockKey: "b" }, stop.signal, work("second").run);
  await settled();
  stop.abort(new Error("stopping"));

  expect(await waiting).toBeUndefined();
  expect(working).toEqual(["first"]);
  first.end();
  await running;
  expect(await turns.take({ machine: "m2", lockKey: "b" }, never, async () => "third")).toBe("third");
});

test("a workflow of which an action has ended comes before those that have not begun", async () => {
  const { turns, work } = lab(1);
  const order: string[] = [];
  const run = (name: string, workflowId: string, stop = never) =>
    turns.take({ machine: name }, stop, async () => order.push(name), { workflowId });
  await run("first of w1", "w1");
  await run("refused of w3", "w3", AbortSignal.abort(new Error("stopping")));
  const busy = work("busy");
  void turns.take({}, never, busy.run);
  await settled();

  const waiting = [run("first of w2", "w2"), run("first of w3", "w3"), run("second of w1", "w1")];
  await settled();
  busy.end();
  await Promise.all(waiting);

  expect(order).toEqual(["first of w1", "second of w1", "first of w2", "first of w3"]);
});

test("an action that another replica ran meanwhile does not run here, and a failing cluster is an error", async () => {
  const purposes: (LockPurpose | undefined)[] = [];
  const turnsThatFailWith = (thrown: Error) =>
    new Turns(
      {
        acquire: (_key, _signal, purpose) => {
          purposes.push(purpose);
          return Promise.reject(thrown);
        },
      },
      new ActionSlots(1),
    );
  const mustNotRun = async () => {
    throw new Error("it ran");
  };

  const elsewhere = turnsThatFailWith(new TurnRefused("not now")).take({ machine: "m1" }, never, mustNotRun, {
    actionKey: "k",
  });
  const unanswered = turnsThatFailWith(new Error("the cluster is away")).take(
    { machine: "m1" },
    never,
    mustNotRun,
  );

  expect(await elsewhere).toBeUndefined();
  await expect(unanswered).rejects.toThrow("the cluster is away");
  expect(purposes).toEqual([{ actionKey: "k" }, {}]);
});
