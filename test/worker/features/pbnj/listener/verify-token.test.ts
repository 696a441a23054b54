import { createHmac, createSecretKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { Code } from "@connectrpc/connect";
import { type JWTPayload, SignJWT } from "jose";
import { describe, expect, test } from "vitest";
import {
  parseJwtPublicKeys,
  parseJwtSecrets,
} from "../../../../../worker/features/pbnj/listener/jwt-keys.ts";
import { type TokenRules, verifyToken } from "../../../../../worker/features/pbnj/listener/verify-token.ts";

const NOW_MS = Date.UTC(2026, 0, 1);
const NOW = NOW_MS / 1_000;
const SECRET = "0123456789abcdef0123456789abcdef";
const secret = createSecretKey(Buffer.from(SECRET));
const rsa = generateKeyPairSync("rsa", { modulusLength: 2_048 });
const p256 = generateKeyPairSync("ec", { namedCurve: "P-256" });
const otherP256 = generateKeyPairSync("ec", { namedCurve: "P-256" });
const ed25519 = generateKeyPairSync("ed25519");
const pem = (key: KeyObject) => key.export({ type: "spki", format: "pem" }).toString();

const keys = [
  ...parseJwtSecrets(SECRET),
  ...parseJwtPublicKeys([rsa, otherP256, p256, ed25519].map(({ publicKey }) => pem(publicKey)).join("")),
];

const sign = (claims: JWTPayload, alg = "ES256", key: KeyObject | Uint8Array = p256.privateKey) =>
  new SignJWT({ exp: NOW + 60, ...claims }).setProtectedHeader({ alg }).sign(key);
const unsigned = (header: object, claims: object) =>
  `${[header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".")}.`;
/** A token with these claims, as they are written. */
const signed = (claims: string) => {
  const text = [`{"alg":"HS256"}`, claims].map((part) => Buffer.from(part).toString("base64url")).join(".");
  return `${text}.${createHmac("sha256", secret).update(text).digest("base64url")}`;
};
const verify = (token: string, rules: Partial<TokenRules> = {}) =>
  verifyToken(token, { keys, ...rules }, NOW_MS);

test.each([
  ["HS256", secret],
  ["RS256", rsa.privateKey],
  ["ES256", p256.privateKey],
  ["ES256", otherP256.privateKey],
  ["EdDSA", ed25519.privateKey],
  ["Ed25519", ed25519.privateKey],
] as const)("a token with %s is accepted", async (alg, key) => {
  const caller = await verify(await sign({ sub: "alice" }, alg, key));

  expect(caller.name).toBe("alice");
  expect(caller.mayUse("any")).toBe(true);
});

describe("a token is refused", () => {
  test.each<
    [why: string, token: () => string | Promise<string>, reason: string, rules?: Partial<TokenRules>]
  >([
    ["without a signature", () => unsigned({ alg: "none" }, { exp: NOW + 60 }), "algorithm is not accepted"],
    ["without an algorithm", () => unsigned({}, { exp: NOW + 60 }), "algorithm is not accepted"],
    [
      "with the public key as HS256 secret",
      () => sign({}, "HS256", Buffer.from(pem(rsa.publicKey))),
      "signature is invalid",
    ],
    [
      "with an algorithm for which there is no key",
      () => sign({}, "HS256", secret),
      "algorithm is not accepted",
      { keys: keys.slice(1) },
    ],
    ["with another hash", () => sign({}, "RS512", rsa.privateKey), "algorithm is not accepted"],
    [
      "from an unknown key",
      () => sign({}, "ES256", generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey),
      "signature is invalid",
    ],
    ["after its expiry", () => sign({ exp: NOW - 31 }), "has expired"],
    [
      "without expiry",
      () => new SignJWT({}).setProtectedHeader({ alg: "ES256" }).sign(p256.privateKey),
      "has no expiry",
    ],
    ["with an expiry that never comes", () => signed(`{"exp":1e400}`), "exp, sub or machines is invalid"],
    ["with an expiry after the year 9999", () => sign({ exp: 1e15 }), "exp, sub or machines is invalid"],
    ["with an expiry that is text", () => signed(`{"exp":"2099-01-01"}`), "has no expiry"],
    ["before its time", () => sign({ nbf: NOW + 31 }), "not valid yet"],
    ["from another issuer", () => sign({ iss: "b" }), "from another issuer", { issuer: "a" }],
    ["without the issuer", () => sign({}), "from another issuer", { issuer: "a" }],
    ["for another audience", () => sign({ aud: ["b"] }), "for another audience", { audience: "a" }],
    ["without the audience", () => sign({}), "for another audience", { audience: "a" }],
    ["with a machine that is no name", () => sign({ machines: [1] }), "sub or machines is invalid"],
    ["with one machine for a list", () => sign({ machines: "rack1-*" }), "sub or machines is invalid"],
    ["that is none", () => "some-secret-text", "is not a JSON Web Token"],
    ["that is too long", () => "a".repeat(8_193), "is too long"],
  ])("%s", async (_, token, reason, rules) => {
    await expect(verify(await token(), rules)).rejects.toMatchObject({
      code: Code.Unauthenticated,
      rawMessage: expect.stringContaining(reason),
    });
  });
});

test("issuer, audience and clocks that differ by seconds are accepted", async () => {
  const token = await sign({ iss: "a", aud: ["b", "c"], nbf: NOW + 29, exp: NOW - 29 });

  await expect(verify(token, { issuer: "a", audience: "c" })).resolves.toBeDefined();
});

test.each([
  [["node1", "rack1-*"], { node1: true, node10: false, "rack1-7": true, rack2: false }],
  [[], { node1: false }],
  [["*"], { node1: true }],
])("the claim machines %j limits what the caller may use", async (machines, expected) => {
  const caller = await verify(await sign({ machines }));

  const allowed = Object.keys(expected).map((machine) => [machine, caller.mayUse(machine)]);
  expect(Object.fromEntries(allowed)).toEqual(expected);
});

test("the key that a token names is used", async () => {
  const named = (id: string, key: typeof p256) =>
    parseJwtPublicKeys(pem(key.publicKey)).map((parsed) => ({ ...parsed, id }));
  const rules = { keys: [...named("old", otherP256), ...named("new", p256)] };
  const token = (kid: string) =>
    new SignJWT({ exp: NOW + 60 }).setProtectedHeader({ alg: "ES256", kid }).sign(p256.privateKey);

  await expect(verify(await token("new"), rules)).resolves.toBeDefined();
  await expect(verify(await token("old"), rules)).rejects.toThrow("signature is invalid");
});
