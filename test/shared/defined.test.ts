import { expect, it } from "vitest";
import { defined } from "../../shared/defined.ts";

it("keeps every field but those that are undefined", () => {
  expect(Object.keys(defined({ a: undefined, b: null, c: "", d: 0, e: false }))).toEqual([
    "b",
    "c",
    "d",
    "e",
  ]);
});
