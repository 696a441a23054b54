import { describe, expect, it } from "vitest";
import { type Judged, judge, type Reference, type ViolationKind } from "./judge.ts";
import type { Deed } from "./lab.ts";

const said = (fields: Partial<Reference["result"]> = {}): Reference["result"] => ({
  ...{ action: "power-off", ok: true, message: "off", changed: true, durationMs: 1, roundTrips: 1 },
  ...fields,
});
const deed = (key: string, isDone = true, atMs = 0): Deed => ({ key, isDone, atMs });
const SOFT = deed("power soft-off");

/** A shutdown as asked. */
const own: Reference = {
  ...{ before: { power: "on" }, after: { power: "off" }, deeds: [SOFT] },
  ...{ result: said({ before: "on", after: "off" }), durationMs: 100, leaks: [], stuck: undefined },
};
const LIMITS = { isPlainRefusal: false, limitMs: 1_000, hasMoved: false };
const failed = said({ ok: false, class: "timeout" });

const RIGHT: readonly (readonly [title: string, run: Partial<Judged>])[] = [
  ["the same", {}],
  ["a part that was not read", { result: said({ before: undefined, after: "off" }) }],
  ["forced after it was given time", { deeds: [SOFT, deed("power off", true, 60_000)] }],
  [
    "a failure that changed nothing",
    { result: said({ ok: false, changed: false }), after: { power: "on" }, deeds: [] },
  ],
  ["a doubtful failure that changed nothing", { result: failed, after: { power: "on" }, deeds: [] }],
  ["a refusal, and then the deed", { deeds: [deed(SOFT.key, false), SOFT] }],
];

const WRONG: readonly (readonly [kind: ViolationKind, title: string, run: Partial<Judged>])[] = [
  ["false-success", "a machine that is still on", { after: { power: "on" } }],
  ["false-success", "nothing that was done", { deeds: [] }],
  ["repeated", "a deed that was done twice", { deeds: [SOFT, SOFT] }],
  ["repeated", "a deed that was sent again", { deeds: [SOFT, deed(SOFT.key, false)] }],
  ["other", "a deed that was not asked", { deeds: [SOFT, deed("power cycle")] }],
  [
    "other",
    "a machine that was forced while it shut down",
    { deeds: [SOFT, deed("power off", true, 5_000)] },
  ],
  ["wrong-changed", "changed=false of a machine that changed", { result: said({ changed: false }) }],
  ["wrong-changed", "changed=true of one that did not", { after: { power: "on" }, deeds: [] }],
  ["unsaid-changed", "no word of a change", { result: said({ ok: false, changed: undefined }) }],
  ["wrong-report", "another state before", { result: said({ before: "off", after: "off" }) }],
  ["wrong-report", "another state after", { result: said({ after: "on" }) }],
  [
    "lost-password",
    "an account whose password is in no file",
    { after: { power: "off", accounts: ["in no file"] } },
  ],
  ["hang", "a run beyond its limits", { durationMs: 1_001 }],
  ["hang", "a run without an end", { stuck: "nothing is left that would end it" }],
  ["leak", "a password in the output", { leaks: ["own"] }],
  ["wrong-blame", "an error of the input", { result: said({ ok: false, class: "usage" }) }],
  ["crash", "no result", { result: undefined }],
  ["crash", "an error of its own", { result: said({ ok: false, class: "internal" }) }],
];

describe("a run is right with", () => {
  it.each(RIGHT)("%s", (_, run) => {
    expect(judge({ ...own, ...run }, own, [], LIMITS)).toEqual([]);
  });
});

describe("a run is wrong with", () => {
  it.each(WRONG)("%s: %s", (kind, _, run) => {
    expect(judge({ ...own, ...run }, own, [], LIMITS)).toContainEqual(expect.objectContaining({ kind }));
  });
});

it("a failure after a plain refusal has changed nothing", () => {
  const refused = { ...own, result: failed, after: own.before, deeds: [] };

  const found = judge(refused, own, [], { ...LIMITS, isPlainRefusal: true });

  expect(found).toMatchObject([{ kind: "wrong-changed" }]);
});

it("a run may do what another provider does instead", () => {
  const hard = { ...own, deeds: [deed("power cycle")], after: { power: "on" } };

  expect(judge(hard, own, [{ ...own, ...hard }], LIMITS)).toEqual([]);
});
