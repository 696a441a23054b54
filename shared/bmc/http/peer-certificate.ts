import type { X509Certificate } from "node:crypto";
import { TLSSocket } from "node:tls";
import { BmcError } from "../../contract/bmc-error.ts";
import { defined } from "../../defined.ts";
import type { Endpoint } from "./endpoint.ts";
import { openSocket } from "./tls.ts";

export interface PeerCertificate {
  readonly certificate: X509Certificate;
  /** Whether the system's authorities, or those of the endpoint's `ca`, verify it for the host's name. */
  readonly isTrusted: boolean;
}

/**
 * Reads the certificate that an endpoint presents. Ends the connection after the TLS handshake, without a request or
 * password. Rejects with a `BmcError` of class `unreachable` or `tls`, or with the signal's reason.
 */
export async function readPeerCertificate(endpoint: Endpoint, signal: AbortSignal): Promise<PeerCertificate> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<PeerCertificate>();
  // Any certificate is accepted here, because nothing is sent to the peer.
  const tls = { verify: false, fallback: false, ...defined({ ca: endpoint.tls.ca }) };
  const opening = openSocket({ ...endpoint, tls }, (error, socket, certificate) => {
    if (error) return reject(error);
    if (certificate) resolve({ certificate, isTrusted: socket instanceof TLSSocket && socket.authorized });
    else reject(new BmcError("tls", "the BMC presented no certificate"));
    // Further data from the peer does not matter.
    socket?.on("error", () => undefined).destroy();
  });
  const onAbort = () => {
    reject(signal.reason);
    opening.destroy();
  };
  signal.addEventListener("abort", onAbort, { once: true });
  return promise.finally(() => signal.removeEventListener("abort", onAbort));
}
