import { createHash, randomBytes } from "node:crypto";
import { BmcError } from "../../../contract/bmc-error.ts";
import { defined } from "../../../defined.ts";

/** The challenge of a server (RFC 7616 section 3.3). */
export interface DigestChallenge {
  readonly realm: string;
  readonly nonce: string;
  readonly opaque?: string;
  readonly algorithm: "MD5" | "SHA-256";
  /** Whether the server names the algorithm. AMT does not, and then the answer must not name it either. */
  readonly algorithmGiven: boolean;
  /** False for the older form without a client nonce (RFC 2069). */
  readonly qop: boolean;
  /** Set if the server refused only an outdated nonce, without checking the credentials. */
  readonly stale: boolean;
}

export interface DigestAccount {
  readonly username: string;
  readonly password: string;
}

export interface DigestRequest {
  readonly method: string;
  /** The path and query of the request line. */
  readonly uri: string;
  /** The number of requests with the challenge's nonce, including this one. */
  readonly count: number;
  /** The client nonce; set only by tests. */
  readonly clientNonce?: string;
}

/**
 * One parameter, or other text up to the next comma. The expression is sticky, so that the search never restarts within a
 * word.
 */
const PARAMETER = /[\s,]*(?:([A-Za-z0-9_-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))|[^,]+)/gy;

/** Reads `WWW-Authenticate`; undefined if it does not request digest authentication. */
export function parseChallenge(header: string | undefined): DigestChallenge | undefined {
  const [, rest] = /(?:^|,)\s*Digest\s+(.*)$/is.exec(header ?? "") ?? [];
  if (rest === undefined) return undefined;
  const parameters = new Map<string, string>();
  for (const [, name = "", quoted, token] of rest.matchAll(PARAMETER)) {
    if (name === "") continue;
    const key = name.toLowerCase();
    // A second scheme in the same header repeats names; the first ones belong to the digest.
    if (!parameters.has(key)) parameters.set(key, quoted?.replace(/\\(.)/g, "$1") ?? token ?? "");
  }
  const [realm, nonce] = [parameters.get("realm"), parameters.get("nonce")];
  if (realm === undefined || !nonce) {
    throw new BmcError("protocol", "the digest challenge lacks its realm or nonce");
  }
  const algorithm = algorithmOf(parameters.get("algorithm"));
  const opaque = parameters.get("opaque");
  return {
    realm,
    nonce,
    ...defined({ opaque }),
    algorithm,
    algorithmGiven: parameters.has("algorithm"),
    qop: offersAuth(parameters.get("qop")),
    stale: parameters.get("stale")?.toLowerCase() === "true",
  };
}

/** The value of `Authorization` (RFC 7616 section 3.4). */
export function authorize(
  challenge: DigestChallenge,
  account: DigestAccount,
  request: DigestRequest,
): string {
  const { realm, nonce, opaque, algorithm, algorithmGiven, qop } = challenge;
  const { method, uri, count, clientNonce = randomBytes(16).toString("hex") } = request;
  const hash = (...parts: readonly string[]) =>
    createHash(algorithm === "MD5" ? "md5" : "sha256")
      .update(parts.join(":"))
      .digest("hex");
  const nonceCount = count.toString(16).padStart(8, "0");
  const secret = hash(account.username, realm, account.password);
  const asked = hash(method, uri);
  const response = qop
    ? hash(secret, nonce, nonceCount, clientNonce, "auth", asked)
    : hash(secret, nonce, asked);
  return [
    `Digest username="${quoted(account.username)}"`,
    `realm="${quoted(realm)}"`,
    `nonce="${quoted(nonce)}"`,
    `uri="${quoted(uri)}"`,
    ...(algorithmGiven ? [`algorithm=${algorithm}`] : []),
    `response="${response}"`,
    ...(opaque === undefined ? [] : [`opaque="${quoted(opaque)}"`]),
    ...(qop ? ["qop=auth", `nc=${nonceCount}`, `cnonce="${clientNonce}"`] : []),
  ].join(", ");
}

function algorithmOf(given: string | undefined): DigestChallenge["algorithm"] {
  const name = given?.toUpperCase() ?? "MD5";
  if (name === "MD5" || name === "SHA-256") return name;
  throw new BmcError("protocol", `digest authentication with ${given} is not supported`);
}

function offersAuth(qop: string | undefined): boolean {
  if (qop === undefined) return false;
  if (qop.split(",").some((token) => token.trim().toLowerCase() === "auth")) return true;
  throw new BmcError("protocol", `digest authentication with quality of protection ${qop} is not supported`);
}

function quoted(text: string): string {
  return text.replace(/["\\]/g, "\\$&");
}
