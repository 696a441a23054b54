import { expect, test } from "vitest";
import { defined } from "../../../../shared/defined.ts";
import {
  ActionQueue,
  ActionSlots,
  type LockOwner,
  LockRefused,
  MachineLocks,
} from "../../../../worker/core/queue/action-queue.ts";

const never = new AbortController().signal;
const settled = () => new Promise((resolve) => setImmediate(resolve));

/** An action queue, and work that lasts until it is ended by hand. */
function lab(slotLimit = 8) {
  const slots = new ActionSlots(slotLimit);
  const queue = new ActionQueue(new MachineLocks(), slots);
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
  return { slots, queue, work, working };
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
  const { queue, work, working } = lab();
  const [first, second] = [work("first"), work("second")];
  const results = [queue.enqueue(place, never, first.run)];
  await settled();
  results.push(queue.enqueue(other, never, second.run));

  await settled();
  expect(working).toEqual(["first"]);
  first.end();
  await settled();
  expect(working).toEqual(["second"]);
  second.end();

  expect(await Promise.all(results)).toEqual(["first", "second"]);
});

test("machine and BMC of the same name are different locks", async () => {
  const { queue, work, working } = lab();

  void queue.enqueue({ machine: "a" }, never, work("first").run);
  void queue.enqueue({ lockKey: "a" }, never, work("second").run);
  await settled();

  expect(working).toEqual(["first", "second"]);
});

test("an action that fails releases its machine, its BMC and its slot", async () => {
  const { slots, queue, work } = lab(1);
  const place = { machine: "m1", lockKey: "a" };
  const first = work("first");

  const failing = queue.enqueue(place, never, first.run);
  await settled();
  expect(slots.taken).toBe(1);
  first.fail(new Error("no"));
  await expect(failing).rejects.toThrow("no");

  expect(slots.taken).toBe(0);
  expect(await queue.enqueue(place, never, async () => "second")).toBe("second");
});

test("an action that stops waiting does not run, and releases what it had", async () => {
  const { queue, work, working } = lab(1);
  const stop = new AbortController();
  const first = work("first");
  const running = queue.enqueue({ machine: "m1" }, never, first.run);
  await settled();

  const waiting = queue.enqueue({ machine: "m2", lockKey: "b" }, stop.signal, work("second").run);
  await settled();
  stop.abort(new Error("stopping"));

  expect(await waiting).toBeUndefined();
  expect(working).toEqual(["first"]);
  first.end();
  await running;
  expect(await queue.enqueue({ machine: "m2", lockKey: "b" }, never, async () => "third")).toBe("third");
});

/** The order in which these workflows get the one slot, which is taken until all of them wait; `undefined` is none. */
async function orderOf(
  { queue, work }: ReturnType<typeof lab>,
  workflowIds: readonly (string | undefined)[],
) {
  const order: (string | undefined)[] = [];
  const busy = work("busy");
  void queue.enqueue({}, never, busy.run);
  await settled();
  const waiting = workflowIds.map((workflowId) =>
    queue.enqueue({}, never, async () => order.push(workflowId), defined({ workflowId })),
  );
  await settled();
  busy.end();
  await Promise.all(waiting);
  return order;
}

test("a workflow that has an ended action comes before new ones", async () => {
  const given = lab(1);
  const end = async () => undefined;
  await given.queue.enqueue({}, never, end, { workflowId: "started" });
  await given.queue.enqueue({}, AbortSignal.abort(), end, { workflowId: "stopped" });
  await given.queue.enqueue({}, never, end);

  const order = await orderOf(given, [undefined, "new", "stopped", "started"]);

  expect(order).toEqual(["started", undefined, "new", "stopped"]);
});

test("the latest thousand workflows count as started", async () => {
  const given = lab(1);
  const end = async (workflowId: string) =>
    given.queue.enqueue({}, never, async () => undefined, { workflowId });
  for (let index = 0; index < 1_000; index++) await end(`w${index}`);
  await end("w0");
  await end("w1000");

  expect(await orderOf(given, ["new", "w1", "w2", "w0"])).toEqual(["w2", "w0", "new", "w1"]);
});

test("an action that another replica ran meanwhile does not run here, and a failing cluster is an error", async () => {
  const purposes: (LockOwner | undefined)[] = [];
  const turnsThatFailWith = (thrown: Error) =>
    new ActionQueue(
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

  const elsewhere = turnsThatFailWith(new LockRefused("not now")).enqueue(
    { machine: "m1" },
    never,
    mustNotRun,
    {
      actionKey: "k",
    },
  );
  const unanswered = turnsThatFailWith(new Error("the cluster is away")).enqueue(
    { machine: "m1" },
    never,
    mustNotRun,
  );

  expect(await elsewhere).toBeUndefined();
  await expect(unanswered).rejects.toThrow("the cluster is away");
  expect(purposes).toEqual([{ actionKey: "k" }, {}]);
});
