import { createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";

/** What a consumer expects of the requests it takes. */
export interface ExpectedSignature {
  readonly algorithm: "sha256" | "sha512";
  /** The secrets in use; one right signature is enough. */
  readonly secrets: readonly string[];
  /** In lower case, as received: such as `x-bmclib-signature-256`. */
  readonly header: string;
  /** Headers whose values follow the body, in lower case. */
  readonly included: readonly string[];
  readonly prefixed: boolean;
}

/** Whether one of the signatures in the header is one of the secrets' over the body and the included headers. */
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
