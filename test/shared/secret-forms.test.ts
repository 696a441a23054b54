import { describe, expect, it } from "vitest";
import { Secret } from "../../shared/secret.ts";
import { formsOf, redactor } from "../../shared/secret-forms.ts";

const SECRET = 'Pa"ss &/word';
const bytes = [...Buffer.from(SECRET)];
const hexOf = (character: string) => character.charCodeAt(0).toString(16).toUpperCase();

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
    ["in entities with names", "Pa&quot;ss &amp;/word"],
    ["in decimal entities", Array.from(SECRET, (c) => `&#${c.charCodeAt(0)};`).join("")],
    ["in hexadecimal entities", Array.from(SECRET, (c) => `&#X0${c.charCodeAt(0).toString(16)};`).join("")],
    ["in a URL in small letters", encodeURIComponent(SECRET).toLowerCase()],
    ["in a form", encodeURIComponent(SECRET).replaceAll("%20", "+")],
    ["encoded twice", encodeURIComponent(encodeURIComponent(SECRET))],
    [
      "escaped character by character",
      Array.from(SECRET, (c) => String.raw`\x${c.charCodeAt(0).toString(16)}`).join(""),
    ],
    ["in quoted-printable", Array.from(SECRET, (c) => `=${hexOf(c)}`).join("")],
    ["in quoted-printable over two lines", 'Pa"=\nss=20&/word'],
    ["in hex with colons", bytes.map((byte) => byte.toString(16)).join(":")],
    ["in hex with dashes, in capitals", bytes.map((byte) => byte.toString(16).toUpperCase()).join("-")],
    ["in hex on lines", bytes.map((byte) => byte.toString(16)).join(" \n")],
    ["as numbers", bytes.join(", ")],
    ["as numbers on lines", bytes.join(",\n")],
    ["in hex of UTF-16", Buffer.from(SECRET, "utf16le").toString("hex").slice(0, -2)],
    ["in small letters", SECRET.toLowerCase()],
    ["in capitals", SECRET.toUpperCase()],
    ["in small letters of base64", Buffer.from(SECRET).toString("base64").toLowerCase()],
    ["with a colour of one byte in it", 'Pa\u009b31m"ss &/wo\u009b0mrd'],
    ["with commands of one byte in it", 'Pa\u009d0;title\u009c"ss &/wo\u0090q\u001b\\rd'],
    ["with other terminal sequences in it", 'Pa\u001b(B"ss &/wo\u001bPq\u001b\\rd'],
    ["folded", 'Pa"ss   &/word'],
    ["on two lines", 'Pa"ss\r\n\t&/word'],
    ["with a colour in it", 'Pa\u001b[31m"ss &/wo\u001b[0mrd'],
    ["with invisible characters", 'Pa"s\u200bs &/\u2066word'],
    ["in wrapped base64", Buffer.from(SECRET).toString("base64").replace(/.{6}/g, "$&\n").trim()],
  ])("loses them %s", (_, form) => {
    expect(redact(`before ${form} after`)).toBe("before [redacted] after");
  });

  it.each([",", " , ", ", \n"])("loses them as numbers in hex with %j between them", (between) => {
    const numbers = bytes.map((byte) => `0x${byte.toString(16)}`).join(between);

    expect(redact(`before [${numbers}] after`)).toBe("before [0x[redacted]] after");
  });

  it.each([0, 1, 2])("loses them in base64 of more, %d bytes later", (before) => {
    const text = Buffer.from(`${"-".repeat(before)}${SECRET}--`).toString("base64");

    expect(redact(text)).toMatch(/^.{0,3}\[redacted\].{0,5}$/);
  });

  it.each([
    ["plain", 'no Pa"s…', "no [redacted]…"],
    ["plain, with dots", 'no Pa"s...', "no [redacted]..."],
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

it("a secret that is spread over two texts is taken out of both", () => {
  const redact = redactor({ password: new Secret("Swordfish-of-the-Sea") });
  const [stdout, stderr] = redact.joined(2);

  expect(stdout?.take("the key: Swordfish-o")).toBe("the key: [redacted]");
  expect(stderr?.take("f-the-Sea is all")).toBe("[redacted] is all");
  expect(stdout?.take("Sword")).toBe("Sword");
  expect(stderr?.take("unrelated")).toBe("unrelated");
  expect(stdout?.take("fish-of-the-Sea")).toBe("[redacted]");
});

it("forms of text that is no well-formed Unicode are made all the same", () => {
  expect(formsOf("\ud800x")).toContain("%EF%BF%BDx");
});

describe("a secret that is a known word", () => {
  const redact = redactor({ username: "admin", password: new Secret("wrong"), kg: new Secret("password") });

  it.each([
    "wrong user name or password",
    "the password is wrong",
    "login refused: wrong user name",
    "Wrongly formed",
    "BMC_PASSWORD or BMC_PASSWORD_FILE is missing: the password",
    '{"password":5}',
  ])("is left in prose: %s", (text) => {
    expect(redact(text)).toBe(text);
  });

  it.each([
    ["wrong", "[redacted]"],
    ["said 'wrong'", "said '[redacted]'"],
    ['{"password":"wrong"}', '{"password":"[redacted]"}'],
    [String.raw`{\"a\":\"wrong\"}`, String.raw`{\"a\":\"[redacted]\"}`],
    ["<Pwd>WRONG</Pwd>", "<Pwd>[redacted]</Pwd>"],
    ["https://admin:wrong@192.0.2.1/", "https://[redacted]@192.0.2.1/"],
    ["user=admin&pass=wrong&x=1", "user=admin&pass=[redacted]&x=1"],
    ["ipmitool -P wrong power", "ipmitool -P [redacted] power"],
    ["ipmitool -Pwrong power", "ipmitool -P[redacted] power"],
    ["ipmitool user set password 2 wrong", "ipmitool user set password 2 [redacted]"],
    ["password: wrong was refused", "password: [redacted] was refused"],
    ["user=admin pass = wrong host=h", "user=admin pass = [redacted] host=h"],
    ["key=wrong host=h", "key=[redacted] host=h"],
    ["admin:wrong at the BMC", "[redacted] at the BMC"],
    ["no user with the password wrong.", "no user with the password [redacted]."],
    ["Authorization: d3Jvbmc=", "Authorization: [redacted]"],
    ["x YWRtaW46d3Jvbmc= y", "x [redacted] y"],
  ])("is removed as a value: %s", (text, expected) => {
    expect(redact(text)).toBe(expected);
  });
});
