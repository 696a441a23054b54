import type { RpcOptions } from "../../../contract/connection.ts";

/** The names that requests to a consumer have. */
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
