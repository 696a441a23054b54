import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";

const PROGRAM = join(import.meta.dirname, "uncaught-errors-program.ts");

/** In a process of its own, as the test runner listens for such errors as well. */
async function run(...argv: readonly string[]) {
  const child = spawn(process.execPath, [PROGRAM, ...argv], { stdio: ["ignore", "pipe", "pipe"] });
  const ended = once(child, "close");
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  await ended;
  const lines = stdout
    .trim()
    .split("\n")
    .map((line): Record<string, unknown> => JSON.parse(line));
  return { code: child.exitCode, lines, stderr };
}

test("an uncaught error of an action fails only that action", async () => {
  const { code, lines } = await run();

  const outcomes = new Map(lines.map(({ name, ...outcome }) => [name, outcome]));
  expect(outcomes.get("rejects-unheard")).toEqual({
    ok: false,
    class: "internal",
    message: "uncaught error: an unhandled rejection",
  });
  expect(outcomes.get("throws-in-a-timer")).toMatchObject({
    class: "internal",
    message: "uncaught error: thrown in a timer",
  });
  expect(outcomes.get("throws-at-once")).toMatchObject({
    class: "internal",
    message: "could not run the action: thrown at once",
  });
  expect(outcomes.get("throws-after-its-end")).toMatchObject({ ok: true, message: "done" });
  expect(outcomes.get("sound")).toMatchObject({ ok: true, message: "done" });
  expect(lines.at(-1)?.["errors"]).toEqual(
    expect.arrayContaining(["an unhandled rejection", "thrown in a timer", "too late"]),
  );
  expect(code).toBe(0);
});

test("several that take uncaught errors take only their own", async () => {
  const { code, lines } = await run("several");

  expect(lines.slice(-2)).toEqual([
    { name: "isolated", message: "thrown in a timer of another" },
    { name: "after", message: "uncaught error: thrown in a timer" },
  ]);
  expect(code).toBe(0);
});

test("an error of the worker itself ends it, as it would with any other runtime", async () => {
  const { code, lines, stderr } = await run("own");

  expect(code).toBe(1);
  expect(stderr).toContain("the program's own");
  expect(lines.map(({ name }) => name)).not.toContain("survived");
});
