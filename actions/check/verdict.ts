import { mostTelling } from "../../shared/bmc/link/race.ts";
import { loadProvider } from "../../shared/bmc/providers/load.ts";
import { BmcError } from "../../shared/contract/bmc-error.ts";
import type { ProviderChecks } from "./check-provider.ts";
import type { CheckRow } from "./checks.ts";
import { type CheckName, checkNamed } from "./checks.ts";

/**
 * Returns the error of the first required check that succeeds with no provider, or undefined if there is none. A TLS failure
 * of any provider also fails every other action that uses the provider, so it is an error unless another provider may be
 * used after it.
 */
export async function unmet(
  providers: readonly ProviderChecks[],
  required: readonly CheckName[],
  tlsFallback: boolean,
): Promise<BmcError | undefined> {
  const rows = providers.flatMap((checked) => checked.rows);
  // The certificate check is about expiry and runs only after TLS has succeeded.
  const untrusted = rows.find(
    (row) => row.state === "failed" && row.class === "tls" && row.check !== "certificate",
  );
  if (untrusted && !tlsFallback) return errorOf([untrusted]);
  for (const check of required) {
    const own = rows.filter((row) => row.check === check);
    if (own.some(({ state }) => state === "ok")) continue;
    return check === "login" ? loginError(own) : checkError(check, [...own, ...(await shutOut(check, rows))]);
  }
  return undefined;
}

/** Makes the error of a failed login in the words of every other action: the reasons of all providers, or only the refusal. */
function loginError(rows: readonly CheckRow[]): BmcError {
  const refusal = rows.find((row) => row.state === "failed" && row.class === "auth");
  return errorOf(refusal ? [refusal] : rows);
}

function checkError(check: CheckName, rows: readonly CheckRow[]): BmcError {
  const error = errorOf(rows);
  return rows.length === 0
    ? new BmcError("unsupported", `${check}: none of the providers has one`)
    : new BmcError(error.class, `${check}: ${error.message}`, { cause: error });
}

function errorOf(rows: readonly CheckRow[]): BmcError {
  const reasons = rows.map(({ provider, detail }) => `${provider}: ${detail}`).join("; ");
  const atLogin = rows.some((row) => row.check === "login" && row.class === "auth");
  return new BmcError(mostTelling(rows.flatMap((row) => row.class ?? [])), reasons, {
    refused: atLogin ? "login" : "right",
  });
}

/** Returns the failed logins of the providers that could have run the check. */
async function shutOut(check: CheckName, rows: readonly CheckRow[]): Promise<readonly CheckRow[]> {
  const capability = check === "login" ? undefined : checkNamed(check).capability;
  const logins = rows.filter((row) => row.check === "login" && row.state !== "ok");
  if (capability === undefined) return logins;
  const providers = await Promise.all(logins.map(({ provider }) => loadProvider(provider)));
  return logins.filter((_, index) => providers[index]?.capabilities.has(capability));
}

/** Summarises the checks: `all 3 required checks passed; redfish: 12 of 14, ipmi: not reachable`. */
export function summarise(providers: readonly ProviderChecks[], required: readonly CheckName[]): string {
  const passed = required.length === 1 ? "the required check" : `all ${required.length} required checks`;
  const tallies = providers.map((checked) => `${checked.provider}: ${tally(checked)}`);
  return `${passed} passed; ${tallies.join(", ")}`;
}

/** Returns the data of the result. */
export function dataOf(checked: readonly ProviderChecks[]) {
  return {
    checks: checked.flatMap(({ rows }) => rows),
    providers: checked.map(({ provider, rows, durationMs, roundTrips }) => ({
      provider,
      ok: rows.filter(({ state }) => state === "ok").length,
      checks: rows.length,
      durationMs,
      roundTrips,
    })),
  };
}

function tally({ rows }: ProviderChecks): string {
  const [login] = rows;
  if (login?.state === "not tried") return "not tried";
  if (login?.state !== "ok") return LOCKED[login?.class ?? ""] ?? "login failed";
  const passed = rows.filter(({ state }) => state === "ok").length;
  const warnings = rows.filter(({ state }) => state === "warning").length;
  const warned = warnings === 0 ? "" : ` (${warnings} ${warnings === 1 ? "warning" : "warnings"})`;
  return `${passed} of ${rows.length}${warned}`;
}

const LOCKED: Readonly<Record<string, string>> = {
  unreachable: "not reachable",
  timeout: "no answer",
  auth: "login refused",
  tls: "TLS failed",
};
