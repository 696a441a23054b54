import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { z } from "zod";
import { type Certificate, createCertificate } from "../../simulators/certificate.ts";

const YEAR_MS = 365 * 86_400_000;
/** By machine. */
const Kept = z.record(z.string(), z.object({ cert: z.string(), key: z.string() }));

/** The certificates of a lab's BMCs, which stay the same between its runs, so that a pinned fingerprint does too. */
export interface KeptCertificates {
  of(machine: string): Certificate;
  /** The text of the file for the next run. */
  text(): string;
}

/** Replaces a certificate that expires within a year, as a check would warn of it. */
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

/** 0 for a text that is no certificate. */
function expiryMs(certificate: string): number {
  try {
    return Date.parse(new X509Certificate(certificate).validTo);
  } catch {
    return 0;
  }
}
