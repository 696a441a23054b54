import { expect, test } from "vitest";
import { systemClock } from "../../shared/clock.ts";
import { TimeoutReached, withTimeout } from "../../shared/timeout.ts";

const never = new AbortController().signal;

test("work that ends in time gives its value", async () => {
  expect(await withTimeout(1_000, never, async () => 7)).toBe(7);
});

test("work that does not end is left behind with a TimeoutReached, and its signal says so", async () => {
  let seen: unknown;
  const waiting = withTimeout(
    20,
    never,
    (signal) =>
      new Promise(() => {
        signal.addEventListener("abort", () => {
          seen = signal.reason;
        });
      }),
  );

  await expect(waiting).rejects.toBeInstanceOf(TimeoutReached);
  expect(seen).toBeInstanceOf(TimeoutReached);
});

test("an aborted signal ends the wait with its own reason", async () => {
  const controller = new AbortController();
  const waiting = withTimeout(5_000, controller.signal, () => new Promise(() => undefined));

  controller.abort(new Error("enough"));

  await expect(waiting).rejects.toThrow("enough");
});

test("the time is that of the given clock", async () => {
  const sleeps: number[] = [];
  const clock = { ...systemClock, sleep: async (ms: number) => void sleeps.push(ms) };

  const waiting = withTimeout(3_600_000, never, () => new Promise(() => undefined), clock);

  await expect(waiting).rejects.toMatchObject({ name: "TimeoutReached", afterMs: 3_600_000 });
  expect(sleeps).toEqual([3_600_000]);
});
