import { oneLine } from "../../contract/result.ts";
import { BmcError } from "../errors.ts";
import { authority, type Endpoint } from "./tls.ts";

type Peer = Pick<Endpoint, "host" | "port">;

/** A failure before anything was connected. */
export function connectError(error: Error, peer: Peer): BmcError {
  return new BmcError("unreachable", `cannot connect to ${authority(peer)}: ${reasonOf(error)}`, {
    cause: error,
  });
}

/** A failure between connecting and the end of the TLS handshake. */
export function handshakeError(error: Error, peer: Peer): BmcError {
  // System errors are the network's; the rest is OpenSSL's or the certificate check's.
  const errorClass = /^(ECONN|EHOST|ENET|ETIMEDOUT|EPIPE)/.test(codeOf(error)) ? "unreachable" : "tls";
  const message = `TLS with ${authority(peer)} failed: ${reasonOf(error)}`;
  return new BmcError(errorClass, oneLine(message), { cause: error });
}

/** How far an exchange had come when it failed. */
export interface ExchangeProgress {
  /** The request was a write and had been sent: it may have been carried out. */
  readonly uncertain: boolean;
  /** The answer had begun. */
  readonly answered: boolean;
}

/** A failure while a request was out. */
export function exchangeError(
  error: Error,
  doing: string,
  { uncertain, answered }: ExchangeProgress,
): BmcError {
  if (error.name === "HTTPParserError" || codeOf(error) === "UND_ERR_HEADERS_OVERFLOW") {
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

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: "connection reset",
  EHOSTUNREACH: "no route to host",
  ENETUNREACH: "network unreachable",
  ENOTFOUND: "name not found",
  EAI_AGAIN: "name lookup failed for now",
  ETIMEDOUT: "timed out",
  DEPTH_ZERO_SELF_SIGNED_CERT: "self-signed certificate",
  SELF_SIGNED_CERT_IN_CHAIN: "self-signed certificate in the chain",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "certificate of an unknown authority",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "certificate of an unknown authority",
  CERT_HAS_EXPIRED: "certificate has expired",
  CERT_NOT_YET_VALID: "certificate is not valid yet",
  ERR_SSL_WRONG_VERSION_NUMBER: "the peer does not speak TLS on this port",
};

function reasonOf(error: Error): string {
  return reasons[codeOf(error)] ?? (error.message || codeOf(error));
}

function codeOf(error: Error): string {
  return "code" in error && typeof error.code === "string" ? error.code : "";
}
