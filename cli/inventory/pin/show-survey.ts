import { formatTable } from "../../../shared/table.ts";
import type { Comparison } from "./compare-certificate.ts";
import type { Sight } from "./survey.ts";

const STATES: Readonly<Record<Comparison, string>> = {
  new: "new",
  pinned: "pinned",
  changed: "CHANGED",
  trusted: "trusted",
};
const HEAD = ["machine", "address", "state", "subject", "issuer", "valid", "fingerprint (SHA-256)"];

/** A row per machine. The last column is never cut, because people compare fingerprints. */
export function surveyTable(sights: readonly Sight[]): string {
  return formatTable(HEAD, sights.map(rowOf));
}

function rowOf(sight: Sight): readonly string[] {
  const { name, tls } = sight.entry;
  if (sight.kind === "skipped") return [name, "", "skipped", "", "", "", "uses no TLS"];
  if (sight.kind === "failed") return [name, sight.address, "failed", "", "", "", sight.error.message];
  const { address, comparison, certificate } = sight;
  const { subject, issuer, from, until, term, fingerprint } = certificate;
  const valid = `${from} to ${until}${term === "expired" ? " (expired)" : ""}`;
  const other =
    tls.fingerprint === undefined ? "not issued by caFile" : `the inventory has ${tls.fingerprint}`;
  const remark = comparison === "changed" ? `, ${other}` : "";
  return [name, address, STATES[comparison], subject, issuer, valid, `${fingerprint}${remark}`];
}
