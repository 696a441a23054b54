import { notTried } from "../../shared/bmc/operations/finding.ts";
import type { ProviderName } from "../../shared/contract/vocabulary.ts";
import type { ProviderChecks } from "./check-provider.ts";

/** The row of a provider that is not tried: another one's BMC refused the password, or its TLS failed. */
export function skipProvider(
  provider: ProviderName,
  earlier: Pick<ProviderChecks, "provider" | "endedBy">,
): ProviderChecks {
  const finding =
    earlier.endedBy === "tls"
      ? notTried(
          "tls",
          `TLS with ${earlier.provider} failed, and tls.fallback does not allow another provider`,
        )
      : notTried("auth", `${earlier.provider} refused the credentials, and refusals lock accounts`);
  const rows = [{ provider, check: "login" as const, ...finding }];
  return { provider, rows, endedBy: undefined, durationMs: 0, roundTrips: 0 };
}
