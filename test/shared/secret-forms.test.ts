import { describe, expect, it } from "vitest";
import { Secret } from "../../shared/secret.ts";
import { formsOf, redactor } from "../../shared/secret-forms.ts";

const SECRET = 'pa"ss &/word';

describe("text with secrets in it", () => {
  const redact = redactor({ username: "root", nested: { list: [new Secret(SECRET)] } });

  it.each([
    ["as they are", SECRET],
    ["in JSON", JSON.stringify(SECRET).slice(1, -1)],
    ["in a URL", encodeURIComponent(SECRET)],
    ["in base64", Buffer.from(SECRET).toString("base64")],
    ["in base64 for URLs", Buffer.from(SECRET).toString("base64url")],
    ["in hex", Buffer.from(SECRET).toString("hex")],
    ["in capital hex", Buffer.from(SECRET).toString("hex").toUpperCase()],
    [
      "with the user, in base64, as in HTTP's basic authentication",
      Buffer.from(`root:${SECRET}`).toString("base64"),
    ],
  ])("loses them %s", (_, form) => {
    expect(redact(`before ${form} after ${form}`)).toBe("before [redacted] after [redacted]");
  });

  it.each([
    ["in entities with names", "pa&quot;ss &amp;/word"],
    ["in decimal entities", Array.from(SECRET, (c) => `&#${c.charCodeAt(0)};`).join("")],
    ["in hexadecimal entities", Array.from(SECRET, (c) => `&#X0${c.charCodeAt(0).toString(16)};`).join("")],
    ["in a URL in small letters", encodeURIComponent(SECRET).toLowerCase()],
    ["in a form", encodeURIComponent(SECRET).replaceAll("%20", "+")],
    ["encoded twice", encodeURIComponent(encodeURIComponent(SECRET))],
    [
      "escaped character by character",
      Array.from(SECRET, (c) => String.raw`\x${c.charCodeAt(0).toString(16)}`).join(""),
    ],
    ["folded", 'pa"ss   &/word'],
    ["on two lines", 'pa"ss\r\n\t&/word'],
    ["with a colour in it", 'pa\u001b[31m"ss &/wo\u001b[0mrd'],
    ["with invisible characters", 'pa"s\u200bs &/\u2066word'],
    ["in wrapped base64", Buffer.from(SECRET).toString("base64").replace(/.{6}/g, "$&\n").trim()],
  ])("loses them %s", (_, form) => {
    expect(redact(`before ${form} after`)).toBe("before [redacted] after");
  });

  it.each([0, 1, 2])("loses them in base64 of more, %d bytes later", (before) => {
    const text = Buffer.from(`${"-".repeat(before)}${SECRET}--`).toString("base64");

    expect(redact(text)).toMatch(/^.{0,3}\[redacted\].{0,5}$/);
  });

  it.each([
    ["plain", 'no pa"s…', "no [redacted]…"],
    ["plain, with dots", 'no pa"s...', "no [redacted]..."],
    ["in base64", `no ${Buffer.from(SECRET).toString("base64").slice(0, 9)}, no`, "no [redacted], no"],
  ])("loses what is left of a secret that was cut: %s", (_, text, expected) => {
    expect(redact(text)).toBe(expected);
  });

  it("leaves JSON what it is where it takes an escaped character out", () => {
    expect(JSON.parse(redact(JSON.stringify({ said: `"${SECRET}"` })))).toEqual({ said: '"[redacted]"' });
  });

  it("keeps everything else, and what is too short to be a secret", () => {
    const short = redactor({ password: new Secret("on") });

    expect(redact("power is on for root")).toBe("power is on for root");
    expect(short("power is on")).toBe("power is on");
    expect(redactor({})("power is on")).toBe("power is on");
  });

  it("loses a secret whole that begins with another one", () => {
    const both = redactor({ a: new Secret("secret"), b: new Secret("secret-and-more") });

    expect(both("secret-and-more")).toBe("[redacted]");
  });
});

it("forms of text that is no well-formed Unicode are made all the same", () => {
  expect(formsOf("\ud800x")).toContain("%EF%BF%BDx");
});
