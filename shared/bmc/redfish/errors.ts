import type { ErrorClass } from "../../contract/error-class.ts";
import { oneLine } from "../../contract/result.ts";
import { BmcError } from "../errors.ts";
import { describe } from "./describe-request.ts";
import type { HttpAnswer, HttpRequest } from "./http-client.ts";
import { messageQuirks } from "./message-quirks.ts";
import { parseRetryAfterMs } from "./retry-after.ts";
import { ErrorBody, type Message } from "./schema.ts";
import { redact } from "./secret-body.ts";
import { authority, type Endpoint } from "./tls.ts";

/** What a refusal says: its messages, most telling first. */
export interface Refusal {
  readonly text: string;
  readonly messageIds: readonly string[];
}

/** Reads `error.@Message.ExtendedInfo` (DSP0266 section 8.6); empty when the body is something else. */
export function readRefusal(body: unknown): Refusal {
  const parsed = ErrorBody.safeParse(body);
  if (!parsed.success) return { text: "", messageIds: [] };
  const { code, message, "@Message.ExtendedInfo": extended } = parsed.data.error;
  const detailed = describeMessages(extended);
  if (detailed.text !== "") return detailed;
  const ids = code === undefined ? detailed.messageIds : [...detailed.messageIds, code];
  return { text: oneLine([message, code && `(${code})`].filter(Boolean).join(" ")), messageIds: ids };
}

/** Messages of an error or a task as one line, each with its MessageId. */
export function describeMessages(messages: readonly Message[]): Refusal {
  const texts = messages
    .map(({ Message, MessageId }) => [Message, MessageId && `(${MessageId})`].filter(Boolean).join(" "))
    .filter((text) => text !== "");
  return {
    text: oneLine(texts.join("; ")),
    messageIds: messages.flatMap(({ MessageId }) => MessageId ?? []),
  };
}

/**
 * The only translation of an HTTP status into a class. The message says what was asked, such as
 * `PATCH /redfish/v1/Systems/1`, then the BMC's own words and MessageIds, without the request's secrets.
 */
export function answerError(
  answer: HttpAnswer,
  request: Pick<HttpRequest, "method" | "path" | "body">,
  nowMs: number,
): BmcError {
  const refusal = readRefusal(answer.body);
  const errorClass = classOfAnswer(answer.status, refusal.messageIds);
  const retryAfterMs = parseRetryAfterMs(answer.headers["retry-after"], nowMs);
  const said = redact(refusal.text, request.body);
  const message = oneLine(`${describe(request)} answered ${answer.status}${said && `: ${said}`}`);
  return new BmcError(errorClass, message, retryAfterMs === undefined ? {} : { retryAfterMs });
}

function classOfAnswer(status: number, messageIds: readonly string[]): ErrorClass {
  // Whatever is said beside it: a refused account must never be tried again.
  if (status === 401 || status === 403) return "auth";
  return classOfMessages(messageIds) ?? classOfStatus(status);
}

function classOfStatus(status: number): ErrorClass {
  if (status === 409 || status === 429 || status === 503) return "busy";
  if (status === 404 || status === 405 || status === 501) return "unsupported";
  return "bmc";
}

/** A message says more than a status: BMCs answer 400 for "not now", "not yours" and "not offered" alike. */
export function classOfMessages(messageIds: readonly string[]): ErrorClass | undefined {
  return messageQuirks.find(({ messageId }) => messageIds.some((id) => messageId.test(id)))?.class;
}

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
