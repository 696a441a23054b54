import { deflateSync, gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { SecretSearch } from "./secret-traces.ts";

const SECRET = 'a1b2c3Wq"p&/+%7z';
const encoded = Buffer.from(SECRET);

const json = JSON.stringify({ user: "admin", password: SECRET });
const inHex = [...encoded].map((byte) => byte.toString(16).padStart(2, "0"));

test.each([
  ["plain", SECRET],
  ["plain", SECRET.replace(/.{4}/g, "$&\n")],
  ["JSON", json],
  ["HTML entities", "a1b2c3Wq&quot;p&amp;/+%7z"],
  ["HTML entities", "a1b2c3Wq&#34;p&#38;/+%7z"],
  ["percent-encoding", "a1b2c3Wq%22p%26%2f%2b%257z"],
  ["percent-encoding", new URLSearchParams({ p: SECRET }).toString()],
  ["percent-encoding, twice", encodeURIComponent(encodeURIComponent(SECRET))],
  ["base64", (encoded.toString("base64").match(/.{1,7}/g) ?? []).join("\n  ")],
  ["base64", encoded.toString("base64url")],
  ["base64 inside of other text", Buffer.from(`x${SECRET}y`).toString("base64")],
  ["base64 inside of other text", Buffer.from(`admin:${SECRET}`).toString("base64")],
  ["base64 inside of other text", Buffer.from(json).toString("base64")],
  ["base64 of base64", Buffer.from(`x${encoded.toString("base64")}`).toString("base64")],
  ["hexadecimal", encoded.toString("hex")],
  ["hexadecimal", encoded.toString("hex").toUpperCase()],
  ["hexadecimal, byte by byte", inHex.join(":")],
  ["hexadecimal, byte by byte", inHex.map((byte) => `0x${byte}`).join(", ")],
  ["hexadecimal, byte by byte", inHex.map((byte) => `=${byte.toUpperCase()}`).join("")],
  ["character codes", JSON.stringify([...encoded])],
  ["reversed", [...SECRET].toReversed().join("")],
  ["every other character", Buffer.from(SECRET, "utf16le").toString()],
  ["capital or small letters", SECRET.toUpperCase()],
  ["rot13", 'n1o2p3Jd"c&/+%7m'],
  ["gzip, plain", gzipSync(`before ${SECRET}`).toString("base64")],
  ["gzip, JSON", gzipSync(json).toString("base64url")],
  ["zlib, plain", deflateSync(`before ${SECRET}`).toString("base64")],
])("a secret is found: %s, in %j", (form, text) => {
  expect(new SecretSearch(SECRET).in(`before ${text} after`)).toContain(form);
});

test.each([
  ["gzip, JSON", gzipSync(json)],
  ["zlib, JSON", deflateSync(json)],
  // A stream that is not complete.
  ["gzip, plain", gzipSync(`${SECRET} ${"x".repeat(1_000)}`).subarray(0, -8)],
])("a secret is found in bytes: %s", (form, bytes) => {
  const content = Buffer.concat([Buffer.from("before\x1f\x8b\x08"), bytes, Buffer.from("after")]);

  expect(new SecretSearch(SECRET).in(content)).toContain(form);
});

test("nothing is found in what holds no secret", () => {
  const other = JSON.stringify({ password: "[redacted]", hash: "eJ5nothing+compressed/eJ5nothing" });

  expect(new SecretSearch(SECRET).in("a1b2c3 Wq p and others")).toEqual([]);
  expect(new SecretSearch(SECRET).in(Buffer.concat([Buffer.from(other), gzipSync(other)]))).toEqual([]);
});
