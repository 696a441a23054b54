import type { ProviderName } from "../../shared/contract/vocabulary.ts";
import type { ProviderChecks } from "./check-provider.ts";
import { notTried } from "./check-row.ts";

/** What is said of a provider after another one's BMC has refused the password: accounts lock. */
export function skipProvider(provider: ProviderName, refusedBy: ProviderName): ProviderChecks {
  const finding = notTried("auth", `${refusedBy} refused the credentials, and refusals lock accounts`);
  const rows = [{ provider, check: "login" as const, ...finding }];
  return { provider, rows, refused: false, durationMs: 0, roundTrips: 0 };
}
