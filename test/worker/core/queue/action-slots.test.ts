import { getEventListeners } from "node:events";
import fc from "fast-check";
import { expect, test } from "vitest";
import { ActionSlots, MachineLocks, type SlotSharing } from "../../../../worker/core/queue/action-queue.ts";

const never = new AbortController().signal;
const settled = () => new Promise((resolve) => setImmediate(resolve));

test("slots are limited, and acquired first in, first out", async () => {
  const slots = new ActionSlots(2);
  const releases = await Promise.all([slots.acquire(never), slots.acquire(never)]);
  const order: string[] = [];
  const third = slots.acquire(never).then(() => order.push("third"));
  const fourth = slots.acquire(never).then(() => order.push("fourth"));

  await settled();
  expect(order).toEqual([]);
  releases[1]?.();
  await third;
  expect(order).toEqual(["third"]);
  releases[0]?.();
  await fourth;

  expect(order).toEqual(["third", "fourth"]);
});

test.each([
  ["started workflows come first", 1, "s1 s2 s3 n1 s4 n2 n3 n4"],
  [
    "new workflows come first when at most half as many wait as there are slots",
    16,
    "n1 n2 n3 s1 n4 s2 s3 s4",
  ],
  ["new workflows come first once so few wait", 8, "s1 s2 s3 n1 n2 n3 n4 s4"],
])("%s, but every fourth slot goes to the others", async (_, limit, expected) => {
  const slots = new ActionSlots(limit);
  const order: string[] = [];
  const [held] = await Promise.all(Array.from({ length: limit }, () => slots.acquire(never)));
  const wait = async (name: string, slot: Promise<() => void>) => {
    const release = await slot;
    order.push(name);
    release();
  };
  const fresh = ["n1", "n2", "n3", "n4"].map((name) => wait(name, slots.acquire(never)));
  const started = ["s1", "s2", "s3", "s4"].map((name) => wait(name, slots.acquire(never, true)));

  held?.();
  await Promise.all([...fresh, ...started]);

  expect(order.join(" ")).toBe(expected);
});

test("a slot released twice is one slot", async () => {
  const slots = new ActionSlots(1);
  const release = await slots.acquire(never);
  release();
  release();
  await slots.acquire(never);
  let second = false;
  void slots.acquire(never).then(() => {
    second = true;
  });

  await settled();

  expect(second).toBe(false);
});

test("one that stops waiting leaves the queue, and takes no slot", async () => {
  const slots = new ActionSlots(1);
  const release = await slots.acquire(never);
  const leaving = new AbortController();
  const second = slots.acquire(leaving.signal);
  const third = slots.acquire(never);

  leaving.abort(new Error("stopping"));
  await expect(second).rejects.toThrow("stopping");
  release();

  expect(await third).toBeTypeOf("function");
});

test("one that has waited leaves nothing on the signal, which lasts as long as the worker", async () => {
  const slots = new ActionSlots(1);
  const { signal } = new AbortController();
  const release = await slots.acquire(signal);
  const waited = slots.acquire(signal);

  release();
  await waited;

  expect(getEventListeners(signal, "abort")).toEqual([]);
});

test("an aborted signal gets no slot, even if one is free", async () => {
  const slots = new ActionSlots(1);

  await expect(slots.acquire(AbortSignal.abort(new Error("stopping")))).rejects.toThrow("stopping");
  await expect(slots.acquire(never)).resolves.toBeTypeOf("function");
});

/** The next event: an action arrives at a machine, a running one ends, or a waiting one is cancelled. */
const step = fc.oneof(
  fc.record({ kind: fc.constant("arrive" as const), machine: fc.integer({ min: 0, max: 3 }) }),
  fc.record({ kind: fc.constant("end" as const), which: fc.nat(20) }),
  fc.record({ kind: fc.constant("abort" as const), which: fc.nat(40) }),
  fc.record({ kind: fc.constant("settle" as const) }),
);

interface Arrival {
  readonly number: number;
  readonly machine: number;
  readonly abort: AbortController;
  state: "waiting" | "working" | "ended" | "gave up";
  end(): void;
}

test("locks and slots together: no machine has two actions and no slot is lost", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 4 }),
      fc.array(step, { maxLength: 60 }),
      async (size, steps) => {
        const locks = new MachineLocks();
        const slots = new ActionSlots(size);
        const all: Arrival[] = [];
        const begun: Arrival[] = [];
        const runs: Promise<void>[] = [];

        const arrive = (machine: number) => {
          const work = Promise.withResolvers<void>();
          const abort = new AbortController();
          const arrival: Arrival = {
            number: all.length,
            machine,
            abort,
            state: "waiting",
            end: work.resolve,
          };
          all.push(arrival);
          runs.push(run(arrival, work.promise));
        };
        // Like an action: the machine first, then a slot.
        const run = async (arrival: Arrival, work: Promise<void>) => {
          const held: (() => void)[] = [];
          try {
            held.push(await locks.acquire(String(arrival.machine), arrival.abort.signal));
            held.push(await slots.acquire(arrival.abort.signal));
            arrival.state = "working";
            begun.push(arrival);
            check();
            await work;
            arrival.state = "ended";
          } catch {
            arrival.state = "gave up";
          } finally {
            for (const release of held.toReversed()) release();
          }
        };
        const working = () => all.filter(({ state }) => state === "working");
        const check = () => {
          const machines = working().map(({ machine }) => machine);
          expect(machines.length).toBeLessThanOrEqual(size);
          expect(new Set(machines).size).toBe(machines.length);
        };

        for (const next of steps) {
          if (next.kind === "arrive") arrive(next.machine);
          else if (next.kind === "end") working()[next.which % Math.max(1, working().length)]?.end();
          else if (next.kind === "abort") {
            const arrival = all[next.which % Math.max(1, all.length)];
            if (arrival?.state === "waiting") arrival.abort.abort(new Error("gave up"));
          } else await settled();
        }
        // Everything that was not cancelled runs, so that nothing was lost.
        for (let round = 0; round <= all.length; round += 1) {
          await settled();
          for (const arrival of working()) arrival.end();
        }
        await Promise.all(runs);

        expect(all.filter(({ state }) => state !== "ended" && state !== "gave up")).toEqual([]);
        // At one machine, first in, first out.
        for (const machine of [0, 1, 2, 3]) {
          const numbers = begun.filter((each) => each.machine === machine).map(({ number }) => number);
          expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
        }
        // Every slot is free again, and there are no more than before.
        const again = await Promise.all(Array.from({ length: size }, () => slots.acquire(never)));
        expect(again).toHaveLength(size);
        let beyond = false;
        void slots.acquire(never).then(() => {
          beyond = true;
        });
        await settled();
        expect(beyond).toBe(false);
      },
    ),
    { numRuns: 300 },
  );
});

const sharing = (count: number): SlotSharing => ({
  tenants: () => count,
  tenantOf: (workflowId) => (workflowId.startsWith("t") ? Number(workflowId.slice(1)) : undefined),
});

test("long actions of one tenant leave slots to the others, and what is left goes to who has fewest", async () => {
  const slots = new ActionSlots(16, sharing(2));
  const begun: string[] = [];
  const begin = (name: string) =>
    slots.acquire(never, false, name).then((release) => {
      begun.push(name);
      return release;
    });
  const greedy = Array.from({ length: 20 }, () => begin("t0"));
  await settled();
  expect(begun).toHaveLength(12);

  const others = Array.from({ length: 6 }, () => begin("t1"));
  await settled();
  expect(begun.slice(12)).toEqual(["t1", "t1", "t1", "t1"]);
  (await greedy[0])?.();
  await settled();

  expect(begun.slice(16)).toEqual(["t1"]);
  expect(others).toHaveLength(6);
});

test("with more tenants than slots, and for the worker's own actions, no slot stays unused", async () => {
  for (const [limit, tenants] of [
    [1, 3],
    [2, 2],
    [3, 2],
  ] as const) {
    const slots = new ActionSlots(limit, sharing(tenants));
    const order: string[] = [];
    const names = ["own", "t0", "t1", "own", "t0", "t1"];
    const work = async (name: string) => {
      const release = await slots.acquire(never, false, name);
      order.push(name);
      await settled();
      release();
    };
    await Promise.all(names.map(work));

    expect(order.toSorted()).toEqual(names.toSorted());
    expect(slots.taken).toBe(0);
  }
});
