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
