import { createPublicKey, createSecretKey, type KeyObject, X509Certificate } from "node:crypto";
import { z } from "zod";
import { defined } from "../../../../shared/defined.ts";
import { FileProblem } from "../../../../shared/read-text-file.ts";

/** A key that verifies JSON Web Tokens. Only the key's type determines the algorithms that it verifies. */
export interface JwtKey {
  readonly key: KeyObject;
  readonly algorithms: readonly string[];
  /** The key's ID in the key set. */
  readonly id?: string;
}

const MOST_KEYS = 16;
/** A secret must be as long as the hash (RFC 7518 section 3.2). */
const SHORTEST_SECRET_BYTES = 32;
/** The least size of an RSA key (RFC 7518 section 3.3). */
const SMALLEST_RSA_BITS = 2_048;

/** Parses a file with one secret for HS256 per line, so that an old and a new one can be valid together. Throws a `FileProblem` without the file's text. */
export function parseJwtSecrets(text: string): readonly JwtKey[] {
  const secrets = text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
  // Everyone who can read a public key could sign tokens with it.
  const kind = [text, secrets.join(""), ...secrets].map(publicKind).find((found) => found !== undefined);
  if (kind !== undefined) throw new FileProblem(`holds ${kind}, which is public and not a secret`);
  if (secrets.some((secret) => Buffer.byteLength(secret) < SHORTEST_SECRET_BYTES)) {
    throw new FileProblem(
      `holds a secret of less than ${SHORTEST_SECRET_BYTES} characters: use one that openssl rand -hex 32 prints`,
    );
  }
  return bounded(
    secrets.map((secret) => ({ key: createSecretKey(Buffer.from(secret)), algorithms: ["HS256"] })),
  );
}

/** Parses a file with PEM public keys or certificates, or with a JWK Set (RFC 7517). Throws a `FileProblem`. */
export function parseJwtPublicKeys(text: string): readonly JwtKey[] {
  return text.trimStart().startsWith("{") ? bounded(keysOfSet(text)) : keysOfPem(text);
}

/** Names the kind of a text that is public; undefined for a secret. */
function publicKind(text: string): string | undefined {
  const trimmed = text.trim();
  if (trimmed.includes("-----BEGIN ")) return "a PEM key or certificate";
  if (/^[{[]/.test(trimmed) || /"(kty|keys|kid|x5c)"/.test(trimmed)) return "a JSON Web Key (Set)";
  if (/^https?:\/\//i.test(trimmed)) return "an address";
  if (/^(sk-)?(ssh|ecdsa)-[a-z0-9@.-]+ /.test(trimmed)) return "an SSH key";
  if (/^eyJ[\w-]+\.[\w-]+\.[\w-]*$/.test(trimmed)) return "a JSON Web Token";
  const der = Buffer.from(trimmed, "base64");
  // DER begins with the first byte of a SEQUENCE. This check avoids parsing.
  if (der[0] !== 0x30) return undefined;
  const parsers = [
    () => createPublicKey({ key: der, format: "der", type: "spki" }),
    () => createPublicKey({ key: der, format: "der", type: "pkcs1" }),
    () => new X509Certificate(der),
  ];
  return parsers.some((parse) => succeeds(parse)) ? "a public key or certificate" : undefined;
}

function succeeds(parse: () => unknown): boolean {
  try {
    parse();
    return true;
  } catch {
    return false;
  }
}

function bounded<T>(keys: readonly T[]): readonly T[] {
  if (keys.length === 0) throw new FileProblem("holds no key");
  if (keys.length > MOST_KEYS) throw new FileProblem(`holds more than ${MOST_KEYS} keys`);
  return keys;
}

function keysOfPem(text: string): readonly JwtKey[] {
  const blocks = text.match(/-----BEGIN [A-Z0-9 ]{1,64}-----[^-]*-----END [A-Z0-9 ]{1,64}-----/g) ?? [];
  return bounded(blocks).map((pem) => {
    if (pem.includes("PRIVATE KEY-----")) throw new FileProblem("holds a private key: use the public key");
    let key: KeyObject;
    try {
      key = createPublicKey(pem);
    } catch {
      throw new FileProblem("holds a PEM public key that cannot be read");
    }
    const algorithms = algorithmsOf(key);
    if (!algorithms) throw new FileProblem("holds a key that is not RSA of 2048 bits, P-256 or Ed25519");
    return { key, algorithms };
  });
}

const Jwk = z.looseObject({
  kty: z.string(),
  kid: z.string().optional(),
  use: z.string().optional(),
  alg: z.string().optional(),
  d: z.string().optional(),
});
const JwkSet = z.object({ keys: z.array(Jwk).max(100) });

/** Reads the keys of a set. Skips keys for other purposes and algorithms, which key sets of identity providers also contain. */
function keysOfSet(text: string): readonly JwtKey[] {
  return readKeySet(text).flatMap((jwk) => {
    if (jwk.kty === "oct") throw new FileProblem("holds a symmetric key: put it into the file of secrets");
    if (jwk.d !== undefined) throw new FileProblem("holds a private key: use the public keys");
    if (jwk.use !== undefined && jwk.use !== "sig") return [];
    let key: KeyObject;
    try {
      key = createPublicKey({ key: defined(jwk), format: "jwk" });
    } catch {
      return [];
    }
    const algorithms = algorithmsOf(key)?.filter((name) => isFor(jwk.alg, name)) ?? [];
    return algorithms.length === 0
      ? []
      : [{ key, algorithms, ...(jwk.kid !== undefined && { id: jwk.kid }) }];
  });
}

function readKeySet(text: string): z.infer<typeof JwkSet>["keys"] {
  try {
    return JwkSet.parse(JSON.parse(text)).keys;
  } catch {
    throw new FileProblem("is no JSON Web Key Set");
  }
}

/** The names of EdDSA with Ed25519. RFC 9864 introduced a new one, so a key with either name verifies both. */
const ED25519 = ["EdDSA", "Ed25519"];

function isFor(given: string | undefined, algorithm: string): boolean {
  return (
    given === undefined || given === algorithm || (ED25519.includes(given) && ED25519.includes(algorithm))
  );
}

function algorithmsOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): readonly string[] | undefined {
  switch (asymmetricKeyType) {
    case "rsa":
      return (asymmetricKeyDetails?.modulusLength ?? 0) >= SMALLEST_RSA_BITS ? ["RS256"] : undefined;
    case "ec":
      return asymmetricKeyDetails?.namedCurve === "prime256v1" ? ["ES256"] : undefined;
    case "ed25519":
      return ED25519;
    default:
      return undefined;
  }
}
