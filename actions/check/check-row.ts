import type { Finding } from "../../shared/bmc/operations/finding.ts";
import type { ProviderName } from "../../shared/contract/vocabulary.ts";
import type { CheckName } from "./checks.ts";

export interface CheckRow extends Finding {
  readonly provider: ProviderName;
  readonly check: CheckName;
  /** Of this check; both absent where the BMC was not asked. */
  readonly durationMs?: number;
  readonly roundTrips?: number;
}
