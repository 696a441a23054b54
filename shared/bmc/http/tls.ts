import { createHash, type X509Certificate } from "node:crypto";
import { connect as connectTcp, isIPv4, type Socket } from "node:net";
import {
  checkServerIdentity,
  connect as connectTls,
  createSecureContext,
  type PeerCertificate,
  type SecureContext,
  TLSSocket,
} from "node:tls";
import { findClockProblem } from "../../certificate-clock.ts";
import { BmcError } from "../../contract/bmc-error.ts";
import { defined } from "../../defined.ts";
import { isIpv6, zoneProblem } from "../../ip-address.ts";
import { textOf } from "../../text-of.ts";
import { certificateError, connectError, handshakeError, pinError } from "./connection-error.ts";
import { authority, type Endpoint } from "./endpoint.ts";
import { askDate } from "./peer-date.ts";
import type { TlsSession } from "./tls-sessions.ts";

/**
 * Opens a connection that is ready for credentials: the certificate, or the pin that replaces its verification, was checked.
 * Calls back once with a socket, and with TLS its certificate, or with a `BmcError` of class `unreachable` or `tls`. Returns
 * the socket in progress, so that the caller can cancel. Resumes `resumed` if the peer accepts it.
 */
export function openSocket(
  endpoint: Endpoint,
  callback: (error: BmcError | null, socket: Socket | null, certificate?: X509Certificate) => void,
  resumed?: TlsSession,
): Socket {
  const socket =
    endpoint.scheme === "https"
      ? connectTls({ ...tlsParameters(endpoint), ...(resumed && { session: resumed.data }) })
      : connectTcp(endpoint.port, endpoint.host);
  const wrongZone = zoneProblem(endpoint.host);
  if (wrongZone) socket.destroy(wrongZone);
  socket.setNoDelay(true);
  let reached = false;
  let settled = false;
  const settle = (error: BmcError | null, certificate?: X509Certificate) => {
    if (settled) return;
    settled = true;
    clearTimeout(timer);
    socket.off("close", onClose);
    if (error) {
      socket.destroy();
      callback(error, null);
    } else {
      socket.off("error", onError);
      callback(null, socket, certificate);
    }
  };
  /** Says whether a wrong clock explains the certificate's problem. The connection was made in time, and is not used. */
  const compareClocks = (connected: TLSSocket, certificate: X509Certificate) => {
    clearTimeout(timer);
    socket.off("close", onClose);
    socket.off("error", onError);
    askDate(connected, endpoint, (peerMs) =>
      settle(certificateProblem(connected, certificate, endpoint, peerMs)),
    );
  };
  const onError = (error: Error) =>
    settle(reached ? handshakeError(error, endpoint) : connectError(error, endpoint));
  const onClose = () => settle(connectError(new Error("the connection was closed"), endpoint));
  const timer = setTimeout(() => {
    const what = reached ? "no TLS handshake" : "no answer";
    const message = `cannot connect to ${authority(endpoint)}: ${what} within ${endpoint.connectTimeoutMs} ms`;
    settle(new BmcError("unreachable", message));
  }, endpoint.connectTimeoutMs);
  socket.on("error", onError);
  socket.on("close", onClose);
  socket.once("connect", () => {
    reached = true;
    endpoint.onReached?.();
    if (!(socket instanceof TLSSocket)) settle(null);
  });
  if (socket instanceof TLSSocket) {
    socket.once("secureConnect", () => {
      let certificate: X509Certificate | undefined;
      let problem: BmcError | null;
      try {
        // Node reports the certificate only once.
        const shown = socket.getPeerX509Certificate();
        certificate = socket.isSessionReused() ? resumed?.certificate : shown;
        problem = certificateProblem(socket, certificate, endpoint);
        if (problem && certificate && OUTSIDE_VALIDITY.has(String(socket.authorizationError))) {
          const { fingerprint } = endpoint.tls;
          if (fingerprint === undefined) return compareClocks(socket, certificate);
        }
      } catch (thrown) {
        problem = new BmcError("tls", `TLS with ${authority(endpoint)} failed: ${textOf(thrown)}`, {
          cause: thrown,
        });
      }
      settle(problem, certificate);
    });
  }
  return socket;
}

let lastContext: { readonly ca: string | undefined; readonly context: SecureContext } | undefined;

/**
 * Creates a secure context. Most connections trust the same authorities, and a new context takes a third of a handshake's
 * CPU time.
 */
function secureContext(ca: string | undefined): SecureContext {
  if (!lastContext || lastContext.ca !== ca) {
    lastContext = { ca, context: createSecureContext(defined({ ca })) };
  }
  return lastContext.context;
}

function tlsParameters({ host, port, tls }: Endpoint) {
  return {
    host,
    port,
    // RFC 6066 section 3: literal addresses are not permitted as a server name.
    ...(isIPv4(host) || isIpv6(host) ? {} : { servername: host }),
    secureContext: secureContext(tls.ca),
    // `certificateProblem` decides: if Node rejects a socket, its certificate is not available for a fingerprint.
    rejectUnauthorized: false,
    // Certificates do not contain the zone of a link-local address.
    checkServerIdentity: (name: string, certificate: PeerCertificate) =>
      checkServerIdentity(name.replace(/%.*$/, ""), certificate),
    ALPNProtocols: ["http/1.1"],
  };
}

/** Why the peer is not the requested one; null if its certificate is accepted. */
function certificateProblem(
  { authorized, authorizationError }: TLSSocket,
  certificate: X509Certificate | undefined,
  endpoint: Endpoint,
  peerMs?: number,
): BmcError | null {
  const { fingerprint: expected, verify } = endpoint.tls;
  const found = certificate && createHash("sha256").update(certificate.raw).digest("hex");
  if (expected !== undefined) return found === expected ? null : pinError({ found, expected }, endpoint);
  if (!verify || authorized) return null;
  const weakness = certificate && weaknessOf(certificate);
  const code = String(authorizationError);
  const clocks = certificate && OUTSIDE_VALIDITY.has(code) ? clocksOf(certificate, peerMs) : undefined;
  return certificateError({ found, code, weakness, clocks }, endpoint);
}

const OUTSIDE_VALIDITY: ReadonlySet<string> = new Set(["CERT_HAS_EXPIRED", "CERT_NOT_YET_VALID"]);

function clocksOf({ validFrom, validTo }: X509Certificate, peerMs: number | undefined) {
  const fromMs = Date.parse(validFrom);
  return findClockProblem({ fromMs, untilMs: Date.parse(validTo), nowMs: Date.now(), peerMs }, "the BMC");
}

/** The least key size of OpenSSL's security level 2, which Node uses. */
const SHORTEST_RSA_BITS = 2_048;

/** Why OpenSSL rejects a certificate without giving a reason; undefined if it is none of these cases. */
function weaknessOf({ publicKey, signatureAlgorithm }: X509Certificate): string | undefined {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = publicKey;
  const bits = details?.modulusLength;
  const hash = /md[245]|sha-?1(?!\d)/i.exec(signatureAlgorithm ?? "")?.[0];
  const weak = [
    type === "rsa" && bits !== undefined && bits < SHORTEST_RSA_BITS ? `RSA key of ${bits} bits` : undefined,
    hash === undefined ? undefined : `signed with ${hash.toUpperCase().replace(/^SHA1/, "SHA-1")}`,
  ].filter((part) => part !== undefined);
  return weak.length > 0 ? weak.join(", ") : undefined;
}
