import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  ANALOG_FORMATS,
  convertReading,
  type Factors,
  parseFactors,
} from "../../../../../shared/bmc/providers/ipmi/records/sensor-conversion.ts";
import { parseSensorRecord } from "../../../../../shared/bmc/providers/ipmi/records/sensor-record.ts";
import {
  entityText,
  sensorKind,
  unitText,
} from "../../../../../shared/bmc/providers/ipmi/records/sensor-units.ts";

const LINEAR: Factors = { m: 1, b: 0, bExponent: 0, rExponent: 0 };

/** Undoes the linearisation of the same code, for positive numbers. */
const INVERSES: readonly ((y: number) => number)[] = [
  (y) => y,
  Math.exp,
  (y) => 10 ** y,
  (y) => 2 ** y,
  Math.log,
  Math.log10,
  Math.log2,
  (y) => 1 / y,
  Math.sqrt,
  Math.cbrt,
  (y) => y ** 2,
  (y) => y ** 3,
];

describe("a raw reading", () => {
  it("can be computed from its number, with every format, linearisation and set of factors", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 255 }),
        fc.constantFrom("unsigned", "ones-complement", "twos-complement"),
        fc.integer({ min: 0, max: 11 }),
        fc.record({
          m: fc.integer({ min: -512, max: 511 }).filter((m) => m !== 0),
          b: fc.integer({ min: -512, max: 511 }),
          bExponent: fc.integer({ min: -3, max: 2 }),
          rExponent: fc.integer({ min: -4, max: 0 }),
        }),
        (raw, format, linearisation, factors) => {
          const { m, b, bExponent, rExponent } = factors;
          const linear = convertReading(raw, format, 0, factors) ?? Number.NaN;
          const step = Math.abs(m) * 10 ** rExponent;
          // Others are undefined, ambiguous, or too steep for the seven digits of a result.
          fc.pre(linear > 0 && linear < 100 && (linearisation === 0 || step > linear / 1_000));

          const value = convertReading(raw, format, linearisation, factors) ?? Number.NaN;
          const back =
            ((INVERSES[linearisation] ?? Number)(value) / 10 ** rExponent - b * 10 ** bExponent) / m;

          const number =
            format === "unsigned" || raw < 0x80 ? raw : raw - (format === "ones-complement" ? 255 : 256);
          expect(Math.abs(back - number)).toBeLessThan(0.5);
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it.each([
    [192, "unsigned", 0, { ...LINEAR, m: 63, rExponent: -3 }, 12.096],
    [0xf6, "twos-complement", 0, LINEAR, -10],
    [0xf6, "ones-complement", 0, LINEAR, -9],
    [0xff, "ones-complement", 0, LINEAR, 0],
    [10, "unsigned", 0, { ...LINEAR, b: 5, bExponent: 1 }, 60],
    [100, "unsigned", 7, { ...LINEAR, m: 2 }, 0.005],
    [4, "unsigned", 8, LINEAR, 16],
    [2, "unsigned", 5, LINEAR, 100],
    [7, "unsigned", 0x70, { ...LINEAR, m: 3 }, 21],
  ] as const)(
    "of %i, %s, linearisation %i is a number of its unit",
    (raw, format, linearisation, factors, value) => {
      expect(convertReading(raw, format, linearisation, factors)).toBe(value);
    },
  );

  it.each([
    ["none", 0, 1],
    ["unsigned", 12, 1],
    ["unsigned", 7, 0],
    ["unsigned", 1, 0],
  ] as const)("is no number with format %s, linearisation %i, raw %i", (format, linearisation, raw) => {
    expect(convertReading(raw, format, linearisation, LINEAR)).toBeUndefined();
  });

  it("has signed factors of 10 and 4 bits", () => {
    expect(parseFactors(Buffer.from([0xff, 0xc0, 0x00, 0x80, 0x00, 0xdf]))).toEqual({
      m: -1,
      b: -512,
      bExponent: -1,
      rExponent: -3,
    });
  });
});

describe("a sensor data record", () => {
  it("that sensors share names each with a number or letter", () => {
    const shared = (sharing: number, offset: number) => {
      const record = Buffer.from(
        "0100510200" +
          "200030" +
          "0301" +
          "6740" +
          "076f" +
          "000000000000" +
          "c00000" +
          "0000" +
          "0000000000" +
          "00" +
          "c3435055",
        "hex",
      );
      record[23] = sharing;
      record[24] = offset;
      return parseSensorRecord(record).map(({ name, number, entityInstance }) => [
        name,
        number,
        entityInstance,
      ]);
    };

    expect(shared(0x02, 0x81)).toEqual([
      ["CPU1", 0x30, 1],
      ["CPU2", 0x31, 2],
    ]);
    expect(shared(0x13, 0x19).map(([name]) => name)).toEqual(["CPUZ", "CPUAA", "CPUAB"]);
    expect(shared(0x01, 0)).toEqual([["CPU", 0x30, 1]]);
  });

  it("of something else than a sensor, or cut short, has none", () => {
    expect(parseSensorRecord(Buffer.from("0100511200", "hex"))).toEqual([]);
    expect(parseSensorRecord(Buffer.from("01005101302000", "hex"))).toEqual([]);
  });

  it("has units in words", () => {
    expect(unitText({ flags: 0, base: 18, modifier: 0 })).toBe("RPM");
    expect(unitText({ flags: 1, base: 0, modifier: 0 })).toBe("%");
    expect(unitText({ flags: 2, base: 7, modifier: 22 })).toBe("J/s");
    expect(unitText({ flags: 4, base: 46, modifier: 41 })).toBe("ft·lb·rev");
    expect(unitText({ flags: 0x18, base: 7, modifier: 0 })).toBe("J/s");
    expect(unitText({ flags: 0, base: 92, modifier: 0 })).toBe("g");
    expect(unitText({ flags: 0, base: 0, modifier: 0 })).toBeUndefined();
    expect(sensorKind(3, "W")).toBe("power");
    expect(sensorKind(4, "%")).toBe("fan");
    expect(entityText(3, 0x61)).toBe("processor 1");
    expect(entityText(55, 0)).toBe("air inlet");
    expect(entityText(0xd0, 1)).toBeUndefined();
    expect(ANALOG_FORMATS).toHaveLength(4);
  });
});
