import { createHash } from "node:crypto";
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import type { Endpoint } from "../../../shared/bmc/http/endpoint.ts";
import { openSocket } from "../../../shared/bmc/http/tls.ts";
import { BmcError } from "../../../shared/contract/bmc-error.ts";
import { defined } from "../../../shared/defined.ts";
import { type CertificateFacts, certificateFacts } from "../../../worker/doctor/certificate-facts.ts";

export interface SeenCertificate extends CertificateFacts {
  /** SHA-256 in hex. */
  readonly fingerprint: string;
  /** Whether the system's authorities, or those of the endpoint's `ca`, verify it for the host's name. */
  readonly isTrusted: boolean;
}

/**
 * Reads the certificate that an endpoint presents. Ends the connection after the TLS handshake: sends no request and no
 * password. Rejects with a `BmcError` of class `unreachable` or `tls`, or with the signal's reason.
 */
export async function readCertificate(endpoint: Endpoint, signal: AbortSignal): Promise<SeenCertificate> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<SeenCertificate>();
  // Any certificate is accepted here, because nothing is sent to its owner.
  const tls = { verify: false, fallback: false, ...defined({ ca: endpoint.tls.ca }) };
  const opening = openSocket({ ...endpoint, tls }, (error, socket, certificate) => {
    if (error) return reject(error);
    if (certificate) {
      resolve({
        ...certificateFacts(certificate.toLegacyObject(), Date.now()),
        fingerprint: createHash("sha256").update(certificate.raw).digest("hex"),
        isTrusted: isAuthorized(socket),
      });
    } else reject(new BmcError("tls", "the BMC presented no certificate"));
    // What the peer still sends does not matter.
    socket?.on("error", () => undefined).destroy();
  });
  const onAbort = () => {
    reject(signal.reason);
    opening.destroy();
  };
  signal.addEventListener("abort", onAbort, { once: true });
  return promise.finally(() => signal.removeEventListener("abort", onAbort));
}

function isAuthorized(socket: Socket | null): boolean {
  return socket instanceof TLSSocket && socket.authorized;
}
