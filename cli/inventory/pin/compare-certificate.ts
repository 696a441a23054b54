import type { MachineEntry } from "../../../worker/machines/inventory-schema.ts";
import type { SeenCertificate } from "./read-certificate.ts";

/**
 * - `new`: nothing in the inventory says which certificate the machine has.
 * - `pinned`: the inventory has this fingerprint.
 * - `changed`: the inventory has another fingerprint, or a CA that did not issue it. It may be an attacker's.
 * - `trusted`: an authority verifies it, so that it needs no fingerprint.
 */
export type Comparison = "new" | "pinned" | "changed" | "trusted";

export function compareCertificate(
  { fingerprint, isTrusted }: Pick<SeenCertificate, "fingerprint" | "isTrusted">,
  { tls }: Pick<MachineEntry, "tls">,
): Comparison {
  if (tls.fingerprint !== undefined) return tls.fingerprint === fingerprint ? "pinned" : "changed";
  // Without verification the worker accepts any certificate, so that this one is not protected yet.
  if (isTrusted && tls.verify) return "trusted";
  return tls.caFile === undefined ? "new" : "changed";
}
