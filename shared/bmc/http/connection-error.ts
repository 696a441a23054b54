import { BmcError } from "../../contract/bmc-error.ts";
import type { NameOption } from "../../contract/name-option.ts";
import { oneLine } from "../../contract/result.ts";
import { errorCode, networkReason } from "../../network-reason.ts";
import { authority, type Endpoint } from "./endpoint.ts";

type Peer = Pick<Endpoint, "host" | "port" | "nameOption">;

/** A failure before anything was connected. */
export function connectError(error: Error, peer: Peer): BmcError {
  return new BmcError("unreachable", `cannot connect to ${authority(peer)}: ${reasonOf(error)}`, {
    cause: error,
  });
}

/** A failure between connecting and the end of the TLS handshake. */
export function handshakeError(error: Error, peer: Peer): BmcError {
  // System errors are the network's; the rest is OpenSSL's or the certificate check's.
  const errorClass = /^(ECONN|EHOST|ENET|ETIMEDOUT|EPIPE)/.test(errorCode(error)) ? "unreachable" : "tls";
  const message = `TLS with ${authority(peer)} failed: ${reasonOf(error)}`;
  const { nameOption = inventoryLine } = peer;
  const withoutTls = `; if this BMC has no TLS there, name only providers that it has: ${nameOption("providers")}`;
  const remedy = errorClass === "tls" ? withoutTls : "";
  return new BmcError(errorClass, oneLine(message + remedy), { cause: error });
}

/**
 * A certificate that is not the pinned one. Fingerprints are SHA-256 in hex; `found` is absent without a certificate.
 */
export function pinError(
  { found, expected }: { readonly found: string | undefined; readonly expected: string },
  peer: Peer,
): BmcError {
  const shown = found ?? "none";
  const message = `certificate fingerprint of ${authority(peer)} is ${shown}, not the pinned ${expected}`;
  return new BmcError("tls", message + acceptance(found, peer));
}

/** A certificate that Node did not verify, with the code that Node gives. */
export function certificateError(
  { found, code }: { readonly found: string | undefined; readonly code: string },
  peer: Peer,
): BmcError {
  const shown = found === undefined ? "" : ` (fingerprint ${found})`;
  const message = `TLS with ${authority(peer)} failed: ${reasons[code] ?? code}${shown}`;
  const { nameOption = inventoryLine } = peer;
  const ca = `; to trust its CA, use ${nameOption("tls.ca", "FILE")}`;
  return new BmcError("tls", message + acceptance(found, peer) + ca);
}

/** How to pin the certificate that was seen. */
function acceptance(fingerprint: string | undefined, { nameOption = inventoryLine }: Peer): string {
  if (fingerprint === undefined) return "";
  return `; if that is the BMC's own certificate, accept it with ${nameOption("tls.fingerprint", fingerprint)}`;
}

/** The library's options have the same names and places. */
export const inventoryLine: NameOption = (option, value) => {
  switch (option) {
    case "providers":
      return "providers in the inventory";
    case "tls.ca":
      return `tls: {caFile: ${value}} in the inventory`;
    case "tls.fingerprint":
      return `tls: {fingerprint: "${value}"} in the inventory`;
    case "ironic.keystone.fingerprint":
      return `ironic: {keystone: {fingerprint: "${value}"}} in the inventory`;
    case "redfish.sshHostKey":
      return `redfish: {sshHostKey: "${value}"} in the inventory`;
    default:
      return option satisfies never;
  }
};

/** How far an exchange had come when it failed. */
export interface ExchangeProgress {
  /** The request was a write and had been sent: it may have been carried out. */
  readonly uncertain: boolean;
  /** The answer had begun. */
  readonly answered: boolean;
}

/** Whether the peer's answer is no HTTP, or its headers are too long. */
export function isMalformed(error: Error): boolean {
  return errorCode(error).startsWith("HPE_");
}

/** A failure while a request was out. */
export function exchangeError(
  error: Error,
  doing: string,
  { uncertain, answered }: ExchangeProgress,
): BmcError {
  if (isMalformed(error)) {
    const message = oneLine(`${doing}: malformed answer: ${error.message}`);
    return new BmcError("protocol", message, { cause: error, uncertain });
  }
  if (answered) {
    const message = `${doing}: truncated answer: ${reasonOf(error)}`;
    return new BmcError("protocol", oneLine(message), { cause: error, uncertain });
  }
  const message = `${doing}: connection lost before the answer: ${reasonOf(error)}`;
  return new BmcError("unreachable", oneLine(message), { cause: error, uncertain });
}

/** OpenSSL's and the certificate check's. */
const reasons: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: "self-signed certificate",
  SELF_SIGNED_CERT_IN_CHAIN: "self-signed certificate in the chain",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "certificate of an unknown authority",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "certificate of an unknown authority",
  CERT_HAS_EXPIRED: "certificate has expired",
  CERT_NOT_YET_VALID: "certificate is not valid yet",
  ERR_TLS_CERT_ALTNAME_INVALID: "the certificate is for another host name or address",
  ERR_SSL_WRONG_VERSION_NUMBER: "the peer does not speak TLS on this port",
};

function reasonOf(error: Error): string {
  const code = errorCode(error);
  return networkReason(error) ?? reasons[code] ?? (error.message || code);
}
