import { expect, test } from "vitest";
import { overheadTable } from "../../bench/container-start.ts";

test("the start of a container is shown as what it takes beyond a bare Node, beside the target", () => {
  const table = overheadTable([
    ["bare", [100, 140, 120]],
    ["quick", [170, 150, 160]],
    ["slow", [180, 181, 999]],
  ]);

  expect(table.split("\n")).toEqual([
    "container  median of 3  beyond bare node  below 60 ms",
    "---------  -----------  ----------------  -----------",
    "bare            120 ms",
    "quick           160 ms            +40 ms  met",
    "slow            181 ms            +61 ms  missed",
  ]);
});
