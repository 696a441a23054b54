import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { z } from "zod";
import {
  Amount,
  ByteSize,
  Count,
  Duration,
  List,
  Text,
  Toggle,
} from "../../../worker/document/value-types.ts";

const read = (schema: z.ZodType, value: unknown): unknown => {
  const parsed = schema.safeParse(value);
  return parsed.success ? parsed.data : undefined;
};

describe("values that operators write", () => {
  it.each([
    [true, true],
    ["Yes", true],
    ["1", true],
    ["T", true],
    [false, false],
    ["off", false],
    ["F", false],
    ["maybe", undefined],
    ["", undefined],
    [1, undefined],
  ])("the toggle %j is %j", (text, expected) => {
    expect(read(Toggle, text)).toBe(expected);
  });

  it.each([
    ["256Mi", 268_435_456],
    ["256m", 268_435_456],
    ["256MiB", 268_435_456],
    ["256MB", 268_435_456],
    ["0.5g", 536_870_912],
    ["1024", 1_024],
    [2_048, 2_048],
    ["1 Gi", undefined],
    ["12T", undefined],
    ["-1k", undefined],
    ["10", undefined],
  ])("the size %j is %j", (text, expected) => {
    expect(read(ByteSize(1_024, 1_024 ** 3), text)).toBe(expected);
  });

  it.each([
    ["5s", 5_000],
    [5, 5_000],
    ["1m", 60_000],
    ["61s", undefined],
    ["0.5s", undefined],
    ["soon", undefined],
    [-1, undefined],
  ])("the duration %j is %j", (text, expected) => {
    expect(read(Duration(1_000, 60_000), text)).toBe(expected);
  });

  it("a number is whole where it must be, and within its bounds", () => {
    expect(["0.5", 2, "2.5", "1e1", "0x1", "", "9"].map((text) => read(Amount(0.5, 4), text))).toEqual([
      0.5,
      2,
      2.5,
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
    expect(["1", 4, "2.5", 0, 5].map((text) => read(Count(1, 4), text))).toEqual([
      1,
      4,
      undefined,
      undefined,
      undefined,
    ]);
  });

  it("a list is the same as a list or as one text", () => {
    const item = fc.stringMatching(/^[a-z0-9:-]{1,6}$/);
    fc.assert(
      fc.property(fc.array(item), (items) => {
        const expected = [...new Set(items)];
        expect(read(List(Text), items)).toEqual(expected);
        expect(read(List(Text), ` ${items.join(" , ")},`)).toEqual(expected);
      }),
    );
  });
});
