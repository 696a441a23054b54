import { expect, it } from "vitest";
import {
  bootTime,
  bootTimeText,
  msBetween,
  parseBootTime,
} from "../../../../worker/core/action/boot-time.ts";

const BOOT = "11111111-2222-3333-4444-555555555555";

it("parses its own text, and nothing else", () => {
  expect(parseBootTime(bootTimeText({ boot: BOOT, ms: 1_234.4 }))).toEqual({ boot: BOOT, ms: 1_234 });
  for (const text of [undefined, "", BOOT, `${BOOT}+`, `${BOOT}+-5`, `${BOOT}+1e3`, "+5", `x${BOOT}+5`]) {
    expect(parseBootTime(text)).toBeUndefined();
  }
});

it("computes the time between two points of one boot only", () => {
  expect(msBetween({ boot: BOOT, ms: 10 }, { boot: BOOT, ms: 25 })).toBe(15);
  expect(msBetween({ boot: BOOT, ms: 25 }, { boot: BOOT, ms: 10 })).toBe(-15);
  expect(msBetween({ boot: BOOT, ms: 10 }, { boot: "other", ms: 25 })).toBeUndefined();
  expect(msBetween(undefined, { boot: BOOT, ms: 25 })).toBeUndefined();
  expect(msBetween({ boot: BOOT, ms: 25 }, undefined)).toBeUndefined();
});

it.runIf(process.platform === "linux")("is the same clock in every process of the host", async () => {
  const { execa } = await import("execa");
  const module = new URL("../../../../worker/core/action/boot-time.ts", import.meta.url).pathname;
  const before = bootTime();
  const script = `import(${JSON.stringify(module)}).then(({ bootTime }) => console.log(JSON.stringify(bootTime())))`;

  const { stdout } = await execa(process.execPath, ["-e", script]);
  const there = parseBootTime(bootTimeText(JSON.parse(stdout)));

  expect(msBetween(before, there)).toBeGreaterThanOrEqual(0);
  expect(msBetween(there, bootTime())).toBeGreaterThanOrEqual(0);
});
