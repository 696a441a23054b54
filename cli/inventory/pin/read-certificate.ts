import { createHash } from "node:crypto";
import type { Endpoint } from "../../../shared/bmc/http/endpoint.ts";
import { readPeerCertificate } from "../../../shared/bmc/http/peer-certificate.ts";
import { type CertificateFacts, certificateFacts } from "../../../worker/doctor/certificate-facts.ts";

export interface SeenCertificate extends CertificateFacts {
  /** The SHA-256 fingerprint in hex. */
  readonly fingerprint: string;
  /** Whether the system's authorities, or the endpoint's `ca`, verify the certificate for the host's name. */
  readonly isTrusted: boolean;
}

/** Reads the certificate that an endpoint presents; see `readPeerCertificate`. */
export async function readCertificate(endpoint: Endpoint, signal: AbortSignal): Promise<SeenCertificate> {
  const { certificate, isTrusted } = await readPeerCertificate(endpoint, signal);
  return {
    ...certificateFacts(certificate.toLegacyObject(), Date.now()),
    fingerprint: createHash("sha256").update(certificate.raw).digest("hex"),
    isTrusted,
  };
}
