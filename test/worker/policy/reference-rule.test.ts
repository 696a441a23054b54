import { describe, expect, it } from "vitest";
import { decideReference } from "../../../worker/policy/decide.ts";
import { Policy } from "../../../worker/policy/policy.ts";
import type { Reference } from "../../../worker/policy/reference.ts";

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

describe("an address that an object names", () => {
  const bmcAddresses = [
    { namespaces: ["team-a"], addresses: ["10.1.0.0/16", "*.bmc.team-a.example", "2001:db8::/48"] },
    { namespaces: ["team-b"], addresses: ["10.2.0.7"] },
  ];
  const isAllowed = (namespace: string, name: string, rules: unknown = bmcAddresses) => {
    const to = { kind: "address", namespace, name } as const;
    return decideReference(Policy.parse({ bmcAddresses: rules ?? undefined }), {
      ...REFERENCE,
      from: { ...REFERENCE.from, namespace },
      to,
    }).allowed;
  };

  it.each([
    ["team-a", "10.1.2.3", true],
    ["team-a", "0x0a010203", true],
    ["team-a", "::ffff:10.1.2.3", true],
    ["team-a", "10.2.0.7", false],
    ["team-a", "2001:db8:0:1::1", true],
    ["team-a", "2001:db9::1", false],
    ["team-a", "Node-1.BMC.team-a.example.", true],
    ["team-a", "node-1.bmc.team-b.example", false],
    ["team-b", "10.2.0.7", true],
    ["team-b", "10.2.0.8", false],
    ["team-c", "10.1.2.3", false],
  ])("by %s, %s: %s", (namespace, host, allowed) => {
    expect(isAllowed(namespace, host)).toBe(allowed);
  });

  it("is free without the rule, and a name matches no network", () => {
    expect(isAllowed("team-c", "10.1.2.3", null)).toBe(true);
    expect(
      isAllowed("team-a", "10.1.2.3.nip.example", [{ namespaces: ["*"], addresses: ["10.0.0.0/8"] }]),
    ).toBe(false);
  });

  it.each(["10.1.0.0/33", "10.1.0/16", "2001:db8::/129", "300.1.1.1", "a b", "https://x"])(
    "cannot be listed as %s",
    (text) => {
      expect(Policy.safeParse({ bmcAddresses: [{ namespaces: ["a"], addresses: [text] }] }).success).toBe(
        false,
      );
    },
  );
});
