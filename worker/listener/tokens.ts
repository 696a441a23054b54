import { createHash, timingSafeEqual } from "node:crypto";
import { FileProblem } from "../../shared/read-text-file.ts";

const MOST_TOKENS = 16;
const SHORTEST = 16;
const LONGEST = 512;
/** The format of a token (RFC 6750 section 2.1). */
const TOKEN = /^[A-Za-z0-9._~+/-]+={0,2}$/;

/** The tokens that grant access to the pages. Only their digests are stored, so that tokens cannot be printed. */
export class Tokens {
  readonly #digests: readonly Buffer[];

  private constructor(tokens: readonly string[]) {
    this.#digests = tokens.map(digestOf);
  }

  /** Parses a token file: one token per line, so that an old and a new token can be valid together. Throws a `FileProblem` without the file's text. */
  static parse(text: string): Tokens {
    const lines = text.split("\n").map((line) => line.trim());
    const bad = lines.findIndex((line) => line !== "" && !isToken(line));
    if (bad >= 0) {
      throw new FileProblem(
        `has no token on line ${bad + 1}: ${SHORTEST} to ${LONGEST} letters, digits and ._~+/-, as openssl rand -hex 32 prints`,
      );
    }
    const tokens = lines.filter((line) => line !== "");
    if (tokens.length === 0) throw new FileProblem("is empty");
    if (tokens.length > MOST_TOKENS) throw new FileProblem(`holds more than ${MOST_TOKENS} tokens`);
    return new Tokens(tokens);
  }

  /** Whether the candidate is a token. Takes the same time for every candidate. */
  accepts(candidate: string): boolean {
    const digest = digestOf(candidate);
    return this.#digests.map((known) => timingSafeEqual(known, digest)).includes(true);
  }
}

function isToken(line: string): boolean {
  return line.length >= SHORTEST && line.length <= LONGEST && TOKEN.test(line);
}

function digestOf(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

/** The token of an `Authorization` header: Bearer, or the password of Basic, which browsers support. */
export function tokenIn(authorization: string | undefined): string | undefined {
  const [, scheme = "", value = ""] =
    /^(bearer|basic) +([A-Za-z0-9._~+/-]+={0,2}) *$/i.exec(authorization ?? "") ?? [];
  if (scheme.toLowerCase() !== "basic") return value === "" ? undefined : value;
  const pair = Buffer.from(value, "base64").toString("utf8");
  const colon = pair.indexOf(":");
  return colon < 0 ? undefined : pair.slice(colon + 1);
}
