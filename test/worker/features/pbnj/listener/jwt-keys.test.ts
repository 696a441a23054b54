import { generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "vitest";
import { createCertificate } from "../../../../../simulators/certificate.ts";
import {
  parseJwtPublicKeys,
  parseJwtSecrets,
} from "../../../../../worker/features/pbnj/listener/jwt-keys.ts";

const SECRET = "0123456789abcdef0123456789abcdef";
const rsa = generateKeyPairSync("rsa", { modulusLength: 2_048 });
const weakRsa = generateKeyPairSync("rsa", { modulusLength: 1_024 });
const p256 = generateKeyPairSync("ec", { namedCurve: "P-256" });
const p384 = generateKeyPairSync("ec", { namedCurve: "P-384" });
const ed25519 = generateKeyPairSync("ed25519");

const pem = ({ publicKey }: Pick<typeof rsa, "publicKey">) =>
  publicKey.export({ type: "spki", format: "pem" }).toString();
const der = ({ publicKey }: Pick<typeof rsa, "publicKey">) =>
  publicKey.export({ type: "spki", format: "der" }).toString("base64");
const jwk = ({ publicKey }: Pick<typeof rsa, "publicKey">, more: object = {}) => ({
  ...publicKey.export({ format: "jwk" }),
  ...more,
});
const set = (...keys: readonly object[]) => JSON.stringify({ keys });
const algorithmsIn = (text: string) => parseJwtPublicKeys(text).map(({ algorithms }) => algorithms);

describe("the type of a key decides its algorithms", () => {
  test.each([
    ["an RSA key", pem(rsa), [["RS256"]]],
    ["a P-256 key", pem(p256), [["ES256"]]],
    ["an Ed25519 key", pem(ed25519), [["EdDSA", "Ed25519"]]],
    ["a certificate", createCertificate({ commonName: "issuer" }).cert, [["ES256"]]],
    ["two keys", pem(rsa) + pem(p256), [["RS256"], ["ES256"]]],
    [
      "a key set",
      set(jwk(rsa, { kid: "a" }), jwk(ed25519, { alg: "EdDSA" })),
      [["RS256"], ["EdDSA", "Ed25519"]],
    ],
    [
      "a key set with keys for other purposes",
      set(jwk(rsa, { use: "enc" }), jwk(rsa, { alg: "PS256" }), jwk(p384), { kty: "new" }, jwk(p256)),
      [["ES256"]],
    ],
  ])("%s", (_, text, algorithms) => {
    expect(algorithmsIn(text)).toEqual(algorithms);
  });

  test.each([Buffer.alloc(48, 0x30).toString("base64"), `{${SECRET}`.slice(1), "MIIB".repeat(10)])(
    "the secret %s, whatever it begins with",
    (text) => {
      expect(parseJwtSecrets(text)).toHaveLength(1);
    },
  );

  test("secrets, one per line", () => {
    expect(parseJwtSecrets(`${SECRET}\n\n${SECRET}1\n`).map(({ algorithms }) => algorithms)).toEqual([
      ["HS256"],
      ["HS256"],
    ]);
  });
});

describe("a file of keys is refused that holds", () => {
  test.each([
    ["nothing", "", "holds no key"],
    ["a private key", p256.privateKey.export({ type: "pkcs8", format: "pem" }).toString(), "private key"],
    ["a short RSA key", pem(weakRsa), "not RSA of 2048 bits, P-256 or Ed25519"],
    ["a key of another curve", pem(p384), "not RSA of 2048 bits, P-256 or Ed25519"],
    ["a broken key", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", "cannot be read"],
    ["a private key in a set", set(p256.privateKey.export({ format: "jwk" })), "private key"],
    ["a secret in a set", set({ kty: "oct", k: "AAAA" }), "symmetric key"],
    ["other JSON", "{}", "is no JSON Web Key Set"],
    ["no usable key", set(jwk(p384)), "holds no key"],
    ["too many keys", pem(ed25519).repeat(17), "more than 16"],
  ])("%s", (_, text, message) => {
    expect(() => parseJwtPublicKeys(text)).toThrow(message);
  });
});

describe("a file of secrets is refused that holds", () => {
  test.each([
    ["nothing", " \n", "holds no key"],
    ["a short secret", `${SECRET}\nshort\n`, "less than 32 characters"],
    ["a public key, which everyone knows", pem(rsa), "PEM key or certificate, which is public"],
    ["a key set", set(jwk(rsa)), "JSON Web Key (Set), which is public"],
    ["a key set on several lines", JSON.stringify({ keys: [jwk(p256)] }, null, 2), "JSON Web Key (Set)"],
    ["a key of a set", JSON.stringify(jwk(ed25519)), "JSON Web Key (Set)"],
    ["a key set behind a secret", `${SECRET}\n${set(jwk(rsa))}`, "JSON Web Key (Set)"],
    ["the address of a key set", "https://issuer.example/.well-known/jwks.json", "an address"],
    ["a public key without its PEM lines", der(rsa), "public key or certificate"],
    ["such a key on several lines", der(rsa).replace(/.{64}/g, "$&\n"), "public key or certificate"],
    ["an SSH key", `ssh-ed25519 ${"A".repeat(68)} alice@example`, "an SSH key"],
    ["a token", `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0.${"s".repeat(43)}`, "a JSON Web Token"],
  ])("%s", (_, text, message) => {
    expect(() => parseJwtSecrets(text)).toThrow(message);
  });
});
