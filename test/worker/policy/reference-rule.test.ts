import { describe, expect, it } from "vitest";
import type { Reference } from "../../../worker/core/action/reference.ts";
import { decideReference } from "../../../worker/policy/decide.ts";
import { Policy } from "../../../worker/policy/policy.ts";

const REFERENCE: Reference = {
  from: { kind: "Machine", namespace: "team-a", name: "node-1" },
  to: { kind: "Secret", namespace: "bmc", name: "node-1-login" },
};
const RULE = { from: ["team-*"], to: ["bmc"], kinds: ["Secret"] };

function reasonOf(rules: readonly object[] | undefined, reference: Reference = REFERENCE) {
  const decision = decideReference(Policy.parse({ references: rules }), reference);
  return decision.allowed ? undefined : decision.reason;
}

describe("a reference to another namespace", () => {
  it("is denied by default, and one within the namespace is allowed", () => {
    expect(reasonOf(undefined)).toBe(
      "policy references: Machine team-a/node-1 may not use Secret bmc/node-1-login: no entry allows it",
    );
    expect(reasonOf([], { ...REFERENCE, to: { ...REFERENCE.to, namespace: "team-a" } })).toBeUndefined();
  });

  it("is allowed by an entry with both namespaces, the kind and, if given, the name", () => {
    expect(reasonOf([RULE])).toBeUndefined();
    expect(reasonOf([{ ...RULE, names: ["*-login"] }])).toBeUndefined();
    for (const other of [
      { from: ["team-b"] },
      { to: ["team-b"] },
      { kinds: ["Machine", "Hardware", "BareMetalHost"] },
      { names: ["other"] },
    ]) {
      expect(reasonOf([{ ...RULE, ...other }])).toBeDefined();
    }
  });

  it("in another cluster needs an entry that names the machine source", () => {
    const there = { ...REFERENCE, source: "edge-1" };

    expect(reasonOf([RULE], there)).toBeDefined();
    expect(reasonOf([{ ...RULE, sources: ["edge-*"] }], there)).toBeUndefined();
    expect(reasonOf([{ ...RULE, sources: ["edge-*"] }])).toBeDefined();
  });

  it("of a Workflow is named by its namespace", () => {
    const workflow = {
      from: { kind: "Workflow", namespace: "team-a" },
      to: { ...REFERENCE.to, kind: "Machine" },
    };

    expect(reasonOf([], workflow as Reference)).toMatch(/Workflow team-a may not use Machine bmc/);
  });

  it.each([
    [{ from: ["team-a"], to: ["bmc"] }],
    [{ ...RULE, kinds: ["ConfigMap"] }],
    [{ ...RULE, from: [] }],
    [{ ...RULE, namespaces: ["x"] }],
  ])("is opened by no entry that lacks a part or has a strange one: %j", (rule) => {
    expect(Policy.safeParse({ references: [rule] }).success).toBe(false);
  });
});
