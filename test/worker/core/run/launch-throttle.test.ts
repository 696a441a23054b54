import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it } from "vitest";
import { LaunchThrottle } from "../../../../worker/core/run/services.ts";

it("a single launch starts in the same turn of the event loop", async () => {
  const throttle = new LaunchThrottle();
  let turns = 0;
  setImmediate(() => {
    turns += 1;
  });

  await throttle.next();

  expect(turns).toBe(0);
});

it("many launches start a few per turn, first in, first out", async () => {
  const throttle = new LaunchThrottle();
  const begun: number[] = [];
  const all = Array.from({ length: 100 }, (_, index) => throttle.next().then(() => begun.push(index)));
  const perTurn: number[] = [];
  while (begun.length < all.length) {
    const before = begun.length;
    await nextTurn();
    perTurn.push(begun.length - before);
  }
  await Promise.all(all);

  expect(begun).toEqual(Array.from({ length: 100 }, (_, index) => index));
  expect(Math.max(...perTurn)).toBeLessThanOrEqual(4);
});

it("other work runs before all launches have started", async () => {
  const throttle = new LaunchThrottle();
  let begun = 0;
  const all = Array.from({ length: 100 }, () => throttle.next().then(() => (begun += 1)));

  await nextTurn();
  const atFirstTurn = begun;
  await Promise.all(all);

  expect(atFirstTurn).toBeLessThan(10);
});
