import type { ClockFinding } from "../../certificate-clock.ts";
import { BmcError } from "../../contract/bmc-error.ts";
import { connectionLine } from "../../contract/name-option.ts";
import { errorCode, networkReason } from "../../network-reason.ts";
import { authority, type Endpoint } from "./endpoint.ts";

type Peer = Pick<Endpoint, "host" | "port" | "nameOption">;

/** The error of a failure before the connection was established. */
export function connectError(error: Error, peer: Peer): BmcError {
  return new BmcError("unreachable", `cannot connect to ${authority(peer)}: ${reasonOf(error)}`, {
    cause: error,
  });
}

/** The error of a failure between the connection and the end of the TLS handshake. */
export function handshakeError(error: Error, peer: Peer): BmcError {
  // System errors belong to the network, others to OpenSSL or the check of the certificate.
  const errorClass = /^(ECONN|EHOST|ENET|ETIMEDOUT|EPIPE)/.test(errorCode(error)) ? "unreachable" : "tls";
  const code = errorCode(error);
  const message = `TLS with ${authority(peer)} failed: ${OUTDATED[code] ?? reasonOf(error)}`;
  const remedy = errorClass === "tls" ? handshakeRemedy(code, peer) : "";
  return new BmcError(errorClass, message + remedy, { cause: error });
}

/**
 * How to fix a failed handshake. A peer that does not speak TLS needs another fix than a BMC with an old version of it; an
 * alert shows that the peer speaks TLS.
 */
function handshakeRemedy(code: string, { nameOption = connectionLine }: Peer): string {
  const providers = nameOption("providers");
  if (code in OUTDATED)
    return `; update the BMC's firmware, or name only other providers that it has: ${providers}`;
  if (/_ALERT_/.test(code)) return "";
  return `; if this BMC has no TLS there, name only providers that it has: ${providers}`;
}

/**
 * The error of a certificate that is not the pinned one. Fingerprints are SHA-256 in hex; `found` is absent without a
 * certificate.
 */
export function pinError(
  { found, expected }: { readonly found: string | undefined; readonly expected: string },
  peer: Peer,
): BmcError {
  const shown = found ?? "none";
  const message = `certificate fingerprint of ${authority(peer)} is ${shown}, not the pinned ${expected}`;
  return new BmcError("tls", message + acceptance(found, peer));
}

/** The error of a certificate that Node did not verify, with Node's code. */
export function certificateError(
  {
    found,
    code,
    weakness,
    clocks,
  }: {
    readonly found: string | undefined;
    readonly code: string;
    readonly weakness?: string | undefined;
    /** Set if the certificate is outside its validity. */
    readonly clocks?: ClockFinding | undefined;
  },
  peer: Peer,
): BmcError {
  const shown = found === undefined ? "" : ` (fingerprint ${found})`;
  const isWeak = code === "UNSPECIFIED" && weakness !== undefined;
  const reason = isWeak ? `the certificate is too weak to be verified: ${weakness}` : (reasons[code] ?? code);
  const times = clocks === undefined ? "" : `: ${clocks.text}`;
  const message = `TLS with ${authority(peer)} failed: ${reason}${shown}${times}`;
  // By the right clock, the certificate may need no other acceptance.
  if (clocks?.isClockWrong) return new BmcError("tls", message);
  const { nameOption = connectionLine } = peer;
  const ca = isWeak ? "" : `; to trust its CA, use ${nameOption("tls.ca", "FILE")}`;
  return new BmcError("tls", message + acceptance(found, peer) + ca);
}

/** How to pin the certificate that was presented. */
function acceptance(fingerprint: string | undefined, { nameOption = connectionLine }: Peer): string {
  if (fingerprint === undefined) return "";
  return `; if that is the BMC's own certificate, accept it with ${nameOption("tls.fingerprint", fingerprint)}`;
}

/** How far an exchange had come when it failed. */
export interface ExchangeProgress {
  /** The request was a write and was sent, so it may have been carried out. */
  readonly uncertain: boolean;
  /** The answer had begun. */
  readonly answered: boolean;
}

/** Whether the peer's answer is not HTTP, or has headers that are too long. */
export function isMalformed(error: Error): boolean {
  return errorCode(error).startsWith("HPE_");
}

/** The error of a failure after the request was sent. */
export function exchangeError(
  error: Error,
  doing: string,
  { uncertain, answered }: ExchangeProgress,
): BmcError {
  if (isMalformed(error)) {
    const message = `${doing}: malformed answer: ${error.message}`;
    return new BmcError("protocol", message, { cause: error, uncertain });
  }
  if (answered) {
    const message = `${doing}: truncated answer: ${reasonOf(error)}`;
    return new BmcError("protocol", message, { cause: error, uncertain, transient: !uncertain });
  }
  const message = `${doing}: connection lost before the answer: ${reasonOf(error)}`;
  return new BmcError("unreachable", message, { cause: error, uncertain });
}

const TOO_OLD = "the BMC speaks only TLS 1.1 or older";
const TOO_WEAK = "the BMC offers no cipher suite, key and signature that are strong enough";

/** OpenSSL's codes for peers that are older than Node accepts. */
const OUTDATED: Readonly<Record<string, string>> = {
  ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: TOO_OLD,
  ERR_SSL_UNSUPPORTED_PROTOCOL: TOO_OLD,
  ERR_SSL_VERSION_TOO_LOW: TOO_OLD,
  "ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE": TOO_WEAK,
  ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE: TOO_WEAK,
  ERR_SSL_TLSV1_ALERT_INSUFFICIENT_SECURITY: TOO_WEAK,
  ERR_SSL_NO_CIPHERS_AVAILABLE: TOO_WEAK,
  ERR_SSL_WRONG_SIGNATURE_TYPE: TOO_WEAK,
  ERR_SSL_UNSUPPORTED_SIGNATURE_ALGORITHM: TOO_WEAK,
  ERR_SSL_NO_SUITABLE_SIGNATURE_ALGORITHM: TOO_WEAK,
  ERR_SSL_DH_KEY_TOO_SMALL: "the BMC's Diffie-Hellman parameters are too short",
  ERR_SSL_BAD_ECC_CERT: TOO_WEAK,
  ERR_SSL_EE_KEY_TOO_SMALL: "the key of the BMC's certificate is too short",
  ERR_SSL_CA_KEY_TOO_SMALL: "the key of the CA of the BMC's certificate is too short",
  ERR_SSL_CA_MD_TOO_WEAK: "the signature of the BMC's certificate is too weak",
  ERR_SSL_UNSAFE_LEGACY_RENEGOTIATION_DISABLED:
    "the BMC has only the old, unsafe TLS renegotiation (RFC 5746)",
};

/** Explanations of codes from OpenSSL and the check of the certificate. */
const reasons: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: "self-signed certificate",
  SELF_SIGNED_CERT_IN_CHAIN: "self-signed certificate in the chain",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "certificate of an unknown authority",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "certificate of an unknown authority",
  UNSPECIFIED: "OpenSSL rejects the certificate or its issuer as too weak, such as for a short key",
  CERT_HAS_EXPIRED: "certificate has expired",
  CERT_NOT_YET_VALID: "certificate is not valid yet",
  ERR_TLS_CERT_ALTNAME_INVALID: "the certificate is for another host name or address",
  ERR_SSL_WRONG_VERSION_NUMBER: "the peer does not speak TLS on this port",
};

function reasonOf(error: Error): string {
  const code = errorCode(error);
  // OpenSSL's message names its source files.
  const reason = "reason" in error && typeof error.reason === "string" ? error.reason : error.message;
  return networkReason(error) ?? reasons[code] ?? (reason || code);
}
