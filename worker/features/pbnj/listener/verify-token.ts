import { Code, ConnectError } from "@connectrpc/connect";
import { decodeProtectedHeader, errors, type JWTPayload, jwtVerify } from "jose";
import { z } from "zod";
import { defined } from "../../../../shared/defined.ts";
import { type Caller, limitedTo, unlimited } from "../caller.ts";
import type { JwtKey } from "./jwt-keys.ts";

export interface TokenRules {
  /** At most `MOST_KEYS` per file. */
  readonly keys: readonly JwtKey[];
  readonly issuer?: string | undefined;
  readonly audience?: string | undefined;
}

const LONGEST_TOKEN = 8_192;
/** The allowed difference between the clocks of issuer and worker. */
const CLOCK_TOLERANCE_SECONDS = 30;

/** The end of the year 9999, in seconds. JSON numbers such as 1e400 are infinite here. */
const LATEST_TIME = 253_402_300_799;

/** The claims of a JSON Web Token that are used in addition to those that jose checks. */
const Claims = z.object({
  exp: z.number().max(LATEST_TIME),
  sub: z.string().max(256).optional(),
  machines: z.array(z.string()).optional(),
});

/**
 * Returns the caller that a JSON Web Token (RFC 7519) names. Rejects with UNAUTHENTICATED and a reason that contains no part
 * of the token. The token's algorithm only selects among the keys of that algorithm (RFC 8725 section 3.1).
 */
export async function verifyToken(token: string, rules: TokenRules, nowMs: number): Promise<Caller> {
  if (token.length > LONGEST_TOKEN) throw refused("the token is too long");
  const { alg, kid } = headerOf(token);
  const suited = rules.keys.filter(({ algorithms }) => alg !== undefined && algorithms.includes(alg));
  if (suited.length === 0) throw refused("the token's algorithm is not accepted");
  for (const key of suited.filter(({ id }) => id === undefined || kid === undefined || id === kid)) {
    const payload = await payloadOf(token, key, rules, nowMs);
    if (payload) return callerOf(payload);
  }
  throw refused("the token's signature is invalid");
}

function headerOf(token: string): { readonly alg?: string; readonly kid?: string } {
  try {
    const { alg, kid } = decodeProtectedHeader(token);
    return defined({ alg, kid });
  } catch {
    throw refused("the token is not a JSON Web Token");
  }
}

/** The payload of the token; undefined if another key signed it. */
async function payloadOf(
  token: string,
  { key, algorithms }: JwtKey,
  { issuer, audience }: TokenRules,
  nowMs: number,
): Promise<JWTPayload | undefined> {
  try {
    const { payload } = await jwtVerify(token, key, {
      algorithms: [...algorithms],
      requiredClaims: ["exp"],
      clockTolerance: CLOCK_TOLERANCE_SECONDS,
      currentDate: new Date(nowMs),
      ...defined({ issuer, audience }),
    });
    return payload;
  } catch (thrown) {
    if (thrown instanceof errors.JWSSignatureVerificationFailed) return undefined;
    throw refused(reasonOf(thrown));
  }
}

const REASONS: Readonly<Record<string, string>> = {
  exp: "the token has no expiry",
  nbf: "the token is not valid yet",
  iss: "the token is from another issuer",
  aud: "the token is for another audience",
};

function reasonOf(thrown: unknown): string {
  if (thrown instanceof errors.JWTExpired) return "the token has expired";
  if (thrown instanceof errors.JWTClaimValidationFailed) {
    return REASONS[thrown.claim] ?? "a claim of the token is invalid";
  }
  return "the token is invalid";
}

function callerOf(payload: JWTPayload): Caller {
  const claims = Claims.safeParse(payload);
  if (!claims.success) throw refused("the token's claim exp, sub or machines is invalid");
  const { sub, machines } = claims.data;
  return machines ? limitedTo(machines, sub) : unlimited(sub);
}

function refused(reason: string): ConnectError {
  return new ConnectError(reason, Code.Unauthenticated);
}
