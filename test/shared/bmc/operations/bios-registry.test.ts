import { describe, expect, it } from "vitest";
import {
  type BiosCondition,
  type BiosDependency,
  effectiveProperties,
} from "../../../../shared/bmc/operations/bios-registry.ts";

const condition = (attribute: string, fields: Partial<BiosCondition> = {}): BiosCondition => ({
  attribute,
  property: "CurrentValue",
  comparison: "EQU",
  value: 1,
  or: false,
  ...fields,
});
const readOnly = (attribute: string, ...conditions: BiosCondition[]): BiosDependency => ({
  attribute,
  property: "ReadOnly",
  value: true,
  conditions,
});
const isReadOnly = (
  name: string,
  dependencies: readonly BiosDependency[],
  values: Readonly<Record<string, number>>,
) => effectiveProperties({ attributes: new Map(), dependencies }, values)(name, "ReadOnly").value === true;

describe("effective properties of BIOS attributes", () => {
  it.each([
    ["EQU", 5, false],
    ["NEQ", 5, true],
    ["GTR", 4, false],
    ["GEQ", 4, true],
    ["LSS", 5, true],
    ["LEQ", 3, false],
    ["???", 4, false],
  ])("compares 4 %s %d", (comparison, value, expected) => {
    const dependency = readOnly("A", condition("B", { comparison, value }));

    expect(isReadOnly("A", [dependency], { B: 4 })).toBe(expected);
  });

  it.each([
    [{ B: 1, C: 1 }, true],
    [{ B: 1, C: 0 }, false],
    [{ B: 0, C: 1 }, false],
    [{ B: 0, C: 0, D: 1 }, true],
  ])("combines conditions from left to right: %j", (values, expected) => {
    const dependency = readOnly("A", condition("B"), condition("C"), condition("D", { or: true }));

    expect(isReadOnly("A", [dependency], values)).toBe(expected);
  });

  it.each([
    ["what the values in force made of it", { B: 0 }, { B: 1 }, false],
    ["what it is in any case", { B: 0 }, { B: 0 }, true],
    ["what the new values make of it", { B: 1 }, { B: 1 }, true],
  ])("knows if an attribute is read-only now or after the change: %s", (_, values, inForce, expected) => {
    const listed = { type: undefined, values: [], properties: { ReadOnly: true } };
    const registry = {
      attributes: new Map([["A", listed]]),
      dependencies: [readOnly("A", condition("B"))],
    };

    expect(effectiveProperties(registry, values, inForce)("A", "ReadOnly").value === true).toBe(expected);
  });

  it("follows the properties of other attributes", () => {
    const ofB = condition("B", { property: "ReadOnly", value: true });

    expect(isReadOnly("A", [readOnly("A", ofB), readOnly("B", condition("C"))], { C: 1 })).toBe(true);
  });

  it("ends at a circle", () => {
    const circle = (from: string) => condition(from, { property: "ReadOnly", value: true });

    expect(isReadOnly("A", [readOnly("A", circle("B")), readOnly("B", circle("A"))], {})).toBe(false);
  });

  it("follows no chain of any length", () => {
    const chain = Array.from({ length: 50_000 }, (_, at) =>
      readOnly(`A${at}`, condition(`A${at + 1}`, { property: "ReadOnly", value: true })),
    );

    expect(isReadOnly("A0", chain, {})).toBe(false);
  });
});
