import { createHmac } from "node:crypto";
import type { RpcOptions, RpcSignature } from "../../../contract/connection.ts";

/** The header names of requests to a consumer. */
export interface HeaderNames {
  readonly timestamp: string;
  readonly signature: string;
  /** Headers whose values are signed after the body, in this order. */
  readonly included: readonly string[];
}

const DEFAULTS: Readonly<Record<RpcOptions["naming"], HeaderNames>> = {
  bmclib: { timestamp: "X-BMCLIB-Timestamp", signature: "X-BMCLIB-Signature", included: [] },
  rufio: {
    timestamp: "X-Rufio-Timestamp",
    signature: "X-Rufio-Signature",
    included: ["X-Rufio-Timestamp"],
  },
};

export function headerNames({ naming, timestampHeader, signature }: RpcOptions): HeaderNames {
  const defaults = DEFAULTS[naming];
  return {
    timestamp: timestampHeader ?? defaults.timestamp,
    signature: signature.header ?? defaults.signature,
    included: signature.includedHeaders ?? defaults.included,
  };
}

/** Header values by name, in any case. */
type Headers = Readonly<Record<string, string>>;

/**
 * The signature headers of a request. Each algorithm has one HMAC per secret over the body followed by the values of the
 * included headers. If neither header contains the algorithm, they share one name, like in bmclib.
 */
export function signatureHeaders(
  { secrets, algorithmInHeader, algorithmInValue }: RpcSignature,
  names: { readonly signature: string; readonly included: readonly string[] },
  body: string,
  headers: Headers,
): Headers {
  const signed = body + names.included.map((name) => headerValue(headers, name)).join("");
  const result: Record<string, string> = {};
  for (const algorithm of ["sha256", "sha512"] as const) {
    const signatures = secrets[algorithm].map((secret) => {
      const hex = createHmac(algorithm, secret.reveal()).update(signed).digest("hex");
      return algorithmInValue ? `${algorithm}=${hex}` : hex;
    });
    if (signatures.length === 0) continue;
    const name = algorithmInHeader ? `${names.signature}-${algorithm.slice(3)}` : names.signature;
    result[name] = [result[name] ?? [], signatures].flat().join(",");
  }
  return result;
}

/** The value of a header; a missing header adds nothing. */
function headerValue(headers: Headers, name: string): string {
  const wanted = name.toLowerCase();
  return Object.entries(headers).find(([key]) => key.toLowerCase() === wanted)?.[1] ?? "";
}
