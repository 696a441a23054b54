import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { z } from "zod";
import { CLOCK_OFFSET_VARIABLE } from "../../chaos/probe-order.ts";

const PROBE = new URL("../../chaos/worker-probe.ts", import.meta.url).href;
const HOUR_MS = 60 * 60_000;

/** Tells what clocks say whenever it is asked, as a worker would read them. */
const PROGRAM = `
  setInterval(() => {}, 1_000);
  process.on("message", (message) => {
    if (message !== "clocks") return;
    process.send({ now: Date.now(), date: new Date().getTime(), fixed: new Date(5).getTime(), text: Date.parse(Date()),
      isDate: new Date() instanceof Date, monotonic: performance.now() });
  });
`;
const Clocks = z.object({
  now: z.number(),
  date: z.number(),
  fixed: z.number(),
  text: z.number(),
  isDate: z.boolean(),
  monotonic: z.number(),
});

function probed(offsetMs: number): ChildProcess & AsyncDisposable {
  const child = spawn(process.execPath, ["--expose-gc", "--import", PROBE, "--eval", PROGRAM], {
    env: { ...process.env, [CLOCK_OFFSET_VARIABLE]: String(offsetMs) },
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const exited = once(child, "exit");
  return Object.assign(child, {
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await exited;
    },
  });
}

async function ask(child: ChildProcess, order: unknown): Promise<unknown> {
  const answer = once(child, "message");
  child.send(order as string);
  return (await answer)[0];
}

test("a worker's wall clock stands where it is put, and jumps; its other clock does not", async () => {
  await using child = probed(-HOUR_MS);

  const before = Clocks.parse(await ask(child, "clocks"));
  const expectedBefore = Date.now() - HOUR_MS;
  child.send({ probe: "clock", offsetMs: 3 * HOUR_MS });
  const after = Clocks.parse(await ask(child, "clocks"));

  expect(Math.abs(before.now - expectedBefore)).toBeLessThan(HOUR_MS / 10);
  expect(after.now - before.now).toBeGreaterThanOrEqual(4 * HOUR_MS);
  expect(after.date - before.date).toBeGreaterThanOrEqual(4 * HOUR_MS);
  expect(after.text - before.text).toBeGreaterThan(3 * HOUR_MS);
  expect(after.fixed).toBe(5);
  expect(after.isDate).toBe(true);
  expect(after.monotonic - before.monotonic).toBeLessThan(HOUR_MS);
});

test("a worker says how much it holds", async () => {
  await using child = probed(0);

  expect(await ask(child, { probe: "memory" })).toEqual({ probe: "memory", heldBytes: expect.any(Number) });
});

test("a worker is told to end when the run is gone", async () => {
  await using child = probed(0);
  const exited = once(child, "exit");
  await ask(child, "clocks");

  child.disconnect();

  expect(await exited).toEqual([null, "SIGTERM"]);
});
