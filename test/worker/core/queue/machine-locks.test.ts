import { expect, test } from "vitest";
import { systemClock } from "../../../../shared/clock.ts";
import { MachineLocks } from "../../../../worker/core/queue/action-queue.ts";

const never = new AbortController().signal;
const settled = () => new Promise((resolve) => setImmediate(resolve));

test("a lock is held by one at a time, first in, first out", async () => {
  const locks = new MachineLocks();
  const record: string[] = [];
  const work = async (name: string) => {
    const release = await locks.acquire("10.0.0.1", never);
    record.push(`${name} in`);
    await systemClock.sleep(5);
    record.push(`${name} out`);
    release();
  };

  await Promise.all([work("a"), work("b"), work("c")]);

  expect(record).toEqual(["a in", "a out", "b in", "b out", "c in", "c out"]);
});

test("different locks do not wait for each other", async () => {
  const locks = new MachineLocks();
  await locks.acquire("10.0.0.1", never);

  const release = await locks.acquire("10.0.0.2", never);

  expect(release).toBeTypeOf("function");
});

test("one that stops waiting leaves the queue, and the next still waits for the first", async () => {
  const locks = new MachineLocks();
  const releaseFirst = await locks.acquire("10.0.0.1", never);
  const controller = new AbortController();
  const second = locks.acquire("10.0.0.1", controller.signal);
  let thirdIn = false;
  const third = locks.acquire("10.0.0.1", never).then((release) => {
    thirdIn = true;
    return release;
  });

  controller.abort(new Error("stopping"));
  await expect(second).rejects.toThrow("stopping");
  await systemClock.sleep(10);
  expect(thirdIn).toBe(false);
  releaseFirst();

  expect(await third).toBeTypeOf("function");
});

test("one that comes when the first has released waits for the second, who now holds the lock", async () => {
  const locks = new MachineLocks();
  const releaseFirst = await locks.acquire("10.0.0.1", never);
  const second = locks.acquire("10.0.0.1", never);
  releaseFirst();
  const releaseSecond = await second;
  await settled();
  let thirdIn = false;
  const third = locks.acquire("10.0.0.1", never).then(() => {
    thirdIn = true;
  });

  await settled();
  expect(thirdIn).toBe(false);
  releaseSecond();
  await third;

  expect(thirdIn).toBe(true);
});

test("an aborted signal gets no lock, even if it is free", async () => {
  const locks = new MachineLocks();
  const stopped = AbortSignal.abort(new Error("stopping"));

  await expect(locks.acquire("10.0.0.1", stopped)).rejects.toThrow("stopping");
  await expect(locks.acquire("10.0.0.1", never)).resolves.toBeTypeOf("function");
});
