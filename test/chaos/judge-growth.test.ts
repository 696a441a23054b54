import { expect, test } from "vitest";
import { judgeGrowth, type Reading } from "./judge-growth.ts";

const MIB = 1_048_576;

function reading(more: Partial<Reading> = {}): Reading {
  return {
    at: 0,
    pid: 1,
    actions: 0,
    heldBytes: 20 * MIB,
    residentBytes: 100 * MIB,
    descriptors: ["socket", "pipe"],
    ...more,
  };
}

const later = { at: 120_000, actions: 100 };

test("finds memory that grows with the actions", () => {
  expect(judgeGrowth("w", [reading(), reading({ ...later, heldBytes: 30 * MIB })])).toEqual([
    { rule: "memory does not grow", text: "w holds 10.0 MiB more in 2.0 minutes and 100 actions" },
  ]);
  expect(judgeGrowth("w", [reading(), reading({ ...later, residentBytes: 400 * MIB })])).toHaveLength(1);
});

test("finds file descriptors that stay open, and says what they are", () => {
  const descriptors = ["socket", ...Array.from({ length: 9 }, () => "pipe"), "/tmp/a"];

  expect(judgeGrowth("w", [reading(), reading({ ...later, descriptors })])).toEqual([
    {
      rule: "no file descriptor is left open",
      text: "w has 9 file descriptors more in 2.0 minutes and 100 actions: 1 socket, 9 pipe, 1 /tmp/a",
    },
  ]);
});
