import { expect, test } from "vitest";
import { loginDoubt, secretDoubt, withoutLineEnd } from "../../../shared/contract/secret-doubt.ts";
import { Secret } from "../../../shared/secret.ts";

test.each([
  ['"calvin"', "has quotes around it, which count as part of it"],
  ["'calvin'", "has quotes around it, which count as part of it"],
  ['""', "has quotes around it, which count as part of it"],
  ["\ncalvin", "has a line end in it, which counts as part of it"],
  ["cal\rvin", "has a line end in it, which counts as part of it"],
  [" calvin", "has a space before or after it, which counts as part of it"],
  ["calvin\t", "has a space before or after it, which counts as part of it"],
  ["calvin", undefined],
  ['"', undefined],
  ["\"calvin'", undefined],
  ['cal"vin', undefined],
  ["two words", undefined],
])("of %j is doubted: %s", (text, doubt) => {
  expect(secretDoubt(text)).toBe(doubt);
});

test("a login is doubted for its user name or password, and neither is quoted", () => {
  expect(loginDoubt({ username: '"admin"', password: new Secret("calvin") })).toBe(
    "the user name has quotes around it, which count as part of it",
  );
  expect(loginDoubt({ username: "admin", password: new Secret("calvin ") })).toBe(
    "the password has a space before or after it, which counts as part of it",
  );
  expect(loginDoubt({})).toBeUndefined();
});

test.each(["calvin", "calvin\n", "calvin\r\n", "calvin\r"])("%j loses one line end", (text) => {
  expect(withoutLineEnd(text)).toBe("calvin");
  expect(withoutLineEnd(`${text}\n\n`)).not.toBe("calvin");
});
