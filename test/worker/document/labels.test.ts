import { describe, expect, it } from "vitest";
import { Selector } from "../../../worker/document/labels.ts";

const LABELS = { rack: "r12", role: "worker", "example.org/row": "b", empty: "" };

describe("a label selector", () => {
  it.each([
    ["rack=r12", true],
    ["rack==r12", true],
    [" rack = r12 , role != spare ", true],
    ["rack=r13", false],
    ["rack=r12,role=spare", false],
    ["zone!=z1", true],
    ["rack!=r12", false],
    ["rack in (r11, r12)", true],
    ["rack in (r11)", false],
    ["rack notin (r11,r13),role in (worker)", true],
    ["zone notin (z1)", true],
    ["rack", true],
    ["zone", false],
    ["!zone", true],
    ["! rack", false],
    ["example.org/row=b", true],
    ["empty=", true],
    ["rack=", false],
    ["toString", false],
  ])("%j: %s", (text, matches) => {
    expect(Selector.parse(text)?.matches(LABELS)).toBe(matches);
  });

  it("matches a machine without labels only by what must not be", () => {
    expect(Selector.parse("rack")?.matches(undefined)).toBe(false);
    expect(Selector.parse("!rack,row!=a")?.matches(undefined)).toBe(true);
  });

  it.each([
    "",
    ",",
    "rack=r12,",
    "a b",
    "=r12",
    "rack=a=b",
    "rack in r12",
    "rack in (r12",
    "rack in (r12),(r13)",
    "rack ~ r12",
    "-rack=r12",
    "rack=-r12",
    `rack=${"x".repeat(64)}`,
    `${"a=b,".repeat(300)}a=b`,
  ])("is not %j", (text) => {
    expect(Selector.parse(text)).toBeUndefined();
  });
});
