import { formatTable } from "../../shared/table.ts";
import type { FoundBmc } from "./bmc.ts";
import type { Login } from "./login.ts";

/** A BMC and the result of the login, which is undefined if no login was requested. */
export interface Discovered extends FoundBmc {
  readonly login?: Login;
}

/** Formats one row per BMC. The last column is never cut, because people compare fingerprints. */
export function discoveredTable(found: readonly Discovered[]): string {
  const hasLogins = found.some(({ login }) => login);
  const more = hasLogins ? ["serial", "MAC addresses", "login"] : [];
  const head = ["address", "answers", "machine", ...more, "fingerprint (SHA-256)"];
  return formatTable(
    head,
    found.map((bmc) => {
      const { machine } = bmc.login?.state === "accepted" ? bmc.login : {};
      const { vendor, model } = machine ?? { vendor: bmc.redfish?.vendor, model: bmc.redfish?.product };
      const named = [vendor, model].filter(Boolean).join(" ");
      const login = [machine?.serial ?? "", machine?.macs.join(" ") ?? "", loginText(bmc.login)];
      return [bmc.host, answersOf(bmc), named, ...(hasLogins ? login : []), fingerprintsOf(bmc)];
    }),
  );
}

/** Returns the fields of a result for JSON, without secrets. */
export function discoveredFields({ login, ...bmc }: Discovered): object {
  if (login?.state !== "accepted") return { ...bmc, ...(login ? { login } : {}) };
  const { candidate, machine, ...others } = login;
  return { ...bmc, login: { ...others, credentials: candidate.number }, machine };
}

function answersOf({ redfish, ipmi, amt }: FoundBmc): string {
  return [
    redfish && `Redfish ${redfish.version ?? ""}`,
    ipmi && (ipmi.version === "rmcp" ? "RMCP" : `IPMI ${ipmi.version === "unknown" ? "" : ipmi.version}`),
    amt && `AMT ${amt.version ?? ""}`,
  ]
    .filter((text) => text !== undefined)
    .map((text) => text.trim())
    .join(", ");
}

function loginText(login: Login | undefined): string {
  switch (login?.state) {
    case "accepted":
      return `credentials ${login.candidate.number}${login.problem ? `, but: ${login.problem}` : ""}`;
    case "refused":
      return `refused ${login.attempts}`;
    case "failed":
      return `failed: ${login.problem}`;
    case "skipped":
      return `skipped: ${login.problem}`;
    case undefined:
      return "";
    default:
      return login satisfies never;
  }
}

function fingerprintsOf({ redfish, amt }: FoundBmc): string {
  const certificates = [redfish?.certificate, amt?.certificate].filter((found) => found !== undefined);
  return [...new Set(certificates.map(({ fingerprint }) => fingerprint))].join(" ");
}
