import { createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";

/** The signature that a consumer expects. */
export interface ExpectedSignature {
  readonly algorithm: "sha256" | "sha512";
  /** The secrets in use; a signature by one of them is enough. */
  readonly secrets: readonly string[];
  /** The header as received, in lower case: such as `x-bmclib-signature-256`. */
  readonly header: string;
  /** Headers in lower case whose values follow the body. */
  readonly included: readonly string[];
  readonly prefixed: boolean;
}

/** Whether a signature in the header was made with one of the secrets over the body and the included headers. */
export function hasValidSignature(
  expected: ExpectedSignature,
  headers: IncomingHttpHeaders,
  body: string,
): boolean {
  const given = String(headers[expected.header] ?? "").split(",");
  return expected.secrets.some((secret) => {
    const hmac = createHmac(expected.algorithm, secret);
    hmac.update(body);
    for (const name of expected.included) hmac.update(String(headers[name] ?? ""));
    const right = Buffer.from(`${expected.prefixed ? `${expected.algorithm}=` : ""}${hmac.digest("hex")}`);
    return given.some((signature) => {
      const candidate = Buffer.from(signature);
      return candidate.length === right.length && timingSafeEqual(candidate, right);
    });
  });
}
