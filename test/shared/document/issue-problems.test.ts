import { describe, expect, it } from "vitest";
import { z } from "zod";
import * as mini from "zod/mini";
import { valueProblems } from "../../../shared/document/issue-problems.ts";

const Full = z.strictObject({
  mode: z.enum(["fast", "slow"]),
  kind: z.literal("CD").optional(),
  items: z.array(z.strictObject({ name: z.string(), count: z.number().min(2).optional() })).min(1),
});
const Mini = mini.strictObject({
  mode: mini.enum(["fast", "slow"]),
  kind: mini.optional(mini.literal("CD")),
  items: mini
    .array(
      mini.strictObject({
        name: mini.string(),
        count: mini.optional(mini.number().check(mini.minimum(2))),
      }),
    )
    .check(mini.minLength(1)),
});

describe.each([
  ["zod", Full],
  ["zod/mini", Mini],
])("the problems of a value with %s", (_, schema) => {
  const problems = (value: unknown, refused = {}) => {
    const { error } = schema.safeParse(value);
    return valueProblems(schema, value, error?.issues ?? [], refused).map(
      ({ path, message }) => `${path.join(".")} ${message}`,
    );
  };

  it.each([
    [{ mode: "fats", items: [{ name: "a" }] }, ["mode must be one of fast, slow, did you mean fast?"]],
    [{ mode: "fast", kind: "cd", items: [{ name: "a" }] }, ["kind must be CD"]],
    [{ mode: "fast", items: [] }, ["items is empty"]],
    [{ mode: "fast", items: "a" }, ["items must be a list, not text"]],
    [{ mode: "fast", items: [{ name: 7 }] }, ["items.0.name must be text: put it in quotes"]],
    [{ mode: "fast", items: [{ name: "a", count: 1 }] }, ["items.0.count must be at least 2"]],
    [{ mode: "fast", items: [{ nmae: "a" }] }, ["items.0.nmae is not known, did you mean name?"]],
    [{ items: [{ name: "a" }] }, ["mode is missing"]],
  ])("are in plain words for %j", (value, expected) => {
    expect(problems(value)).toEqual(expected);
  });

  it("say why a key is refused where there is a reason", () => {
    const value = { mode: "fast", items: [{ name: "a" }], password: "hunter2" };

    expect(problems(value, { password: "does not belong here" })).toEqual(["password does not belong here"]);
  });

  it("never quote the value", () => {
    const found = problems({ mode: "hunter2", kind: "hunter2", items: "hunter2" });

    expect(found).toHaveLength(3);
    expect(found.join()).not.toContain("hunter2");
  });
});
