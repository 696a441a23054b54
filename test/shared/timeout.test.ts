import { expect, test } from "vitest";
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
