import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { printable, printableLine, printableLines, shortened } from "../../shared/printable.ts";

const UNSAFE = /[\p{Cc}\p{Cs}\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e0fff}]/u;

/** Any, halves of surrogate pairs too; often of the first plane, where most of the unsafe ones are. */
const codePoint = fc.oneof(fc.nat(0xffff), fc.nat(0x10ffff));

describe("text of others", () => {
  test.each([
    ["a colour", "\u001b[31m", String.raw`\u001b[31m`],
    ["a C1 control character", "a\u009b31mb", String.raw`a\u009b31mb`],
    ["a change of direction", "a\u202eb", String.raw`a\u202eb`],
    ["an Arabic letter mark", "a\u061cb", String.raw`a\u061cb`],
    ["a character of no width", "a\u200bb\ufeffc", String.raw`a\u200bb\ufeffc`],
    ["what Unicode reserves for invisible characters", "a\u2065b", String.raw`a\u2065b`],
    ["a line separator", "a\u2028b", String.raw`a\u2028b`],
    ["a tag", "a\u{e0041}b", String.raw`a\udb40\udc41b`],
    ["half a character", "a\ud800b", String.raw`a\ud800b`],
    ["what people write", "dürfen 日本 🔥 \u2026", "dürfen 日本 🔥 \u2026"],
  ])("has %s spelled out or as it is", (_, text, expected) => {
    expect(printable(text)).toBe(expected);
  });

  test("is one line without colours and links where it is to be one", () => {
    expect(printableLine("\u001b[1;31ma\u001b[0m\r\n\tb \u001b]8;;http://x\u0007c")).toBe("a b c");
  });

  test("keeps its lines where it may have several", () => {
    expect(printableLines("a\nb\u0007\n")).toBe(`a\nb${String.raw`\u0007`}\n`);
  });

  test("is safe whatever it is, twice the same, and JSON of the same value", () => {
    fc.assert(
      fc.property(fc.array(codePoint), (codePoints) => {
        const text = String.fromCodePoint(...codePoints);
        const once = printable(text);

        expect(once).not.toMatch(UNSAFE);
        expect(printable(once)).toBe(once);
        expect(printableLine(text)).not.toMatch(UNSAFE);
        expect(JSON.parse(printable(JSON.stringify(text)))).toBe(text);
      }),
    );
  });

  test("is never cut within a character", () => {
    expect(shortened("ab🔥cd", 4)).toBe("ab…");
    expect(shortened("abcd", 4)).toBe("abcd");
  });
});
