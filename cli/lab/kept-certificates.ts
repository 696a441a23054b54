import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { z } from "zod";
import { type Certificate, createCertificate } from "../../simulators/certificate.ts";

const YEAR_MS = 365 * 86_400_000;
/** The certificates by machine. */
const Kept = z.record(z.string(), z.object({ cert: z.string(), key: z.string() }));

/** The certificates of a lab's BMCs. They stay the same between runs, so that pinned fingerprints stay valid. */
export interface KeptCertificates {
  of(machine: string): Certificate;
  /** Returns the text of the file for the next run. */
  text(): string;
}

/**
 * Reads the certificates of the last run. A certificate that expires within a year is replaced, because a check would warn
 * about it.
 */
export async function readKeptCertificates(file: string): Promise<KeptCertificates> {
  const text = await readFile(file, "utf8").catch(() => "{}");
  const kept = new Map(Object.entries(Kept.safeParse(parsed(text)).data ?? {}));
  const endsSoon = ({ cert }: Certificate) => expiryMs(cert) < Date.now() + YEAR_MS;
  return {
    of(machine) {
      const present = kept.get(machine);
      if (present && !endsSoon(present)) return present;
      const made = createCertificate({
        commonName: machine,
        altNames: ["127.0.0.1", "::1", "localhost"],
        notAfter: new Date(Date.now() + 5 * YEAR_MS),
      });
      kept.set(machine, made);
      return made;
    },
    text: () => `${JSON.stringify(Object.fromEntries(kept), undefined, 2)}\n`,
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns when a certificate expires; 0 if the text is not a certificate. */
function expiryMs(certificate: string): number {
  try {
    return Date.parse(new X509Certificate(certificate).validTo);
  } catch {
    return 0;
  }
}
