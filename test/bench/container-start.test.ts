import { expect, test } from "vitest";
import { ratioTable } from "../../bench/container-start.ts";

test("the start of a container is shown as a multiple of a bare Node's, beside the goal", () => {
  const table = ratioTable(
    [
      ["bare", [100, 140, 120]],
      ["quick", [130, 138, 132]],
      ["slow", [180, 181, 999]],
    ],
    [1, 1.15, 1.35],
  );

  expect(table.split("\n")).toEqual([
    "container  median of 3  bare node  goal",
    "---------  -----------  ---------  -------------",
    "bare            120 ms",
    "quick           132 ms     1.10 x  1.15 x met",
    "slow            181 ms     1.51 x  1.35 x missed",
  ]);
});
