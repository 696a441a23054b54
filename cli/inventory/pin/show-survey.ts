import { formatTable } from "../../../shared/table.ts";
import type { Comparison } from "./compare-certificate.ts";
import type { CertificateResult } from "./survey.ts";

const STATES: Readonly<Record<Comparison, string>> = {
  new: "new",
  pinned: "pinned",
  changed: "CHANGED",
  trusted: "trusted",
};
const HEAD = ["machine", "address", "state", "subject", "issuer", "valid", "fingerprint (SHA-256)"];

/** A row per machine. The last column is never cut, because people compare fingerprints. */
export function surveyTable(results: readonly CertificateResult[]): string {
  return formatTable(HEAD, results.map(rowOf));
}

function rowOf(result: CertificateResult): readonly string[] {
  const { name, tls } = result.entry;
  if (result.kind === "skipped") return [name, "", "skipped", "", "", "", "uses no TLS"];
  if (result.kind === "paused") return [name, "", "paused", "", "", "", result.reason];
  if (result.kind === "failed") return [name, result.address, "failed", "", "", "", result.error.message];
  const { address, comparison, certificate } = result;
  const { subject, issuer, from, until, term, fingerprint } = certificate;
  const valid = `${from} to ${until}${term === "expired" ? " (expired)" : ""}`;
  const other =
    tls.fingerprint === undefined ? "not issued by caFile" : `the inventory has ${tls.fingerprint}`;
  const remark = comparison === "changed" ? `, ${other}` : "";
  return [name, address, STATES[comparison], subject, issuer, valid, `${fingerprint}${remark}`];
}
