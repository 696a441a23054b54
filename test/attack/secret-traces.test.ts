import { expect, test } from "vitest";
import { SecretSearch } from "./secret-traces.ts";

const SECRET = 'a1b2c3Wq"p&/+%7z';
const encoded = Buffer.from(SECRET);

test.each([
  ["plain", SECRET],
  ["JSON", JSON.stringify({ password: SECRET })],
  ["HTML entities", "a1b2c3Wq&quot;p&amp;/+%7z"],
  ["percent-encoding", "a1b2c3Wq%22p%26%2f%2b%257z"],
  ["base64", (encoded.toString("base64").match(/.{1,7}/g) ?? []).join("\n  ")],
  ["hexadecimal", encoded.toString("hex").toUpperCase()],
  ["reversed", [...SECRET].toReversed().join("")],
  ["base64 inside of other text", Buffer.from(`x${SECRET}y`).toString("base64")],
])("a secret is found: %s", (form, text) => {
  expect(new SecretSearch(SECRET).in(`before ${text} after`)).toContain(form);
});

test("nothing is found in what holds no secret, and no more than is promised on demand", () => {
  const reversed = [...SECRET].toReversed().join("");

  expect(new SecretSearch(SECRET).in("a1b2c3 Wq p and others")).toEqual([]);
  expect(new SecretSearch(SECRET, "promised").in(reversed)).toEqual([]);
});
