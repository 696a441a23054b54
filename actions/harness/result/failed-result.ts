import type { BmcError } from "../../../shared/contract/bmc-error.ts";
import { type ActionResult, oneLine } from "../../../shared/contract/result.ts";

/** The result of an action that failed before it reached its BMC. */
export function failedResult(name: string, error: BmcError): ActionResult {
  return {
    action: name,
    ok: false,
    class: error.class,
    message: oneLine(error.message),
    durationMs: 0,
    roundTrips: 0,
  };
}
