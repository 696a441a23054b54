import { createHash, randomBytes } from "node:crypto";

/** The digest authentication of a device: issues nonces, checks answers (RFC 7616) and counts refusals. */
export class DigestGuard {
  /** The number of requests with wrong credentials. */
  refused = 0;
  /** The number of challenges sent. */
  challenges = 0;
  readonly #username: string;
  readonly #password: string;
  readonly #usesOfNonce: number;
  readonly #qop: string;
  readonly #realm = `Digest:${randomBytes(8).toString("hex").toUpperCase()}`;
  #nonce = "";
  #lastCount = 0;

  constructor(username: string, password: string, usesOfNonce: number, authInt: boolean) {
    // AMT 8 and AMT 16 write it in this form (device-management-toolkit/rps issue 779).
    this.#qop = authInt ? "auth-int, auth" : "auth";
    this.#username = username;
    this.#password = password;
    this.#usesOfNonce = usesOfNonce;
  }

  /** Returns undefined if the request may pass, otherwise the value of WWW-Authenticate. */
  check(authorization: string | undefined, method: string, uri: string): string | undefined {
    const given = authorization === undefined ? undefined : fieldsOf(authorization);
    if (!given) return this.challenge(false);
    if (given.get("nonce") !== this.#nonce) return this.challenge(true);
    const count = Number.parseInt(given.get("nc") ?? "", 16);
    if (count > this.#usesOfNonce) return this.challenge(true);
    const secret = md5(this.#username, this.#realm, this.#password);
    const expected = md5(
      secret,
      this.#nonce,
      given.get("nc") ?? "",
      given.get("cnonce") ?? "",
      "auth",
      md5(method, uri),
    );
    const right =
      given.get("username") === this.#username &&
      given.get("realm") === this.#realm &&
      given.get("uri") === uri &&
      given.get("response") === expected;
    // The count only has to increase: Intel's own client also counts the request that was refused because it had no nonce.
    if (!right || count <= this.#lastCount) {
      this.refused++;
      return this.challenge(false);
    }
    this.#lastCount = count;
    return undefined;
  }

  /** Returns the value of WWW-Authenticate with a new nonce. */
  challenge(stale: boolean): string {
    this.challenges++;
    this.#nonce = randomBytes(16).toString("base64");
    this.#lastCount = 0;
    return `Digest realm="${this.#realm}", nonce="${this.#nonce}",stale="${stale}",qop="${this.#qop}"`;
  }
}

function fieldsOf(authorization: string): ReadonlyMap<string, string> | undefined {
  if (!authorization.startsWith("Digest ")) return undefined;
  const fields = authorization.slice("Digest ".length).split(/,\s*(?=[a-z]+=)/i);
  return new Map(
    fields.map((field) => {
      const equals = field.indexOf("=");
      return [field.slice(0, equals), field.slice(equals + 1).replace(/^"(.*)"$/, "$1")];
    }),
  );
}

function md5(...parts: readonly string[]): string {
  return createHash("md5").update(parts.join(":")).digest("hex");
}
