import { type Finding, notTried, ok } from "./finding.ts";

/** A driver whose BMC can be asked whether it has what only using it would prove. */
export interface OfferedDriver {
  /**
   * Asks without using it; undefined where the BMC cannot say. Throws `unsupported` where the BMC is known not to
   * offer it.
   */
  offered(signal: AbortSignal): Promise<true | undefined>;
}

export function describeOffer(offered: true | undefined): Finding {
  return offered
    ? ok("offered")
    : notTried("unsupported", "the BMC does not report whether it supports this");
}
