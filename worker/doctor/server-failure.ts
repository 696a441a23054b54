import { X509Certificate } from "node:crypto";
import type { PeerCertificate } from "node:tls";
import { Code, ConnectError } from "@connectrpc/connect";
import { z } from "zod";
import { findClockProblem } from "../../shared/certificate-clock.ts";
import { textOf } from "../../shared/text-of.ts";
import { TimeoutReached } from "../../shared/timeout.ts";
import { CAUSE_NAMES, type CauseName } from "../findings/causes.ts";
import { type Finding, findingOf } from "../findings/finding.ts";
import { ProxyError } from "../sources/grpc/http-proxy.ts";
import type { ServerConfig } from "../sources/server/server-settings.ts";
import { certificateFacts } from "./certificate-facts.ts";
import errorCodes from "./error-codes.json" with { type: "json" };
import { causeOfAnswer, type ProxyAnswer, saysNoUpstream } from "./proxy-answer.ts";
import { acceptsPlaintext, askOverHttp1, fetchCertificate, type RecheckLimits } from "./recheck.ts";
import type { ServerFacts } from "./recording-channel.ts";

/** Causes of failures that the error's code explains. */
const BY_CODE = z.record(z.string(), z.tuple([z.enum(CAUSE_NAMES), z.string()])).parse(errorCodes);

/** Causes for which the report shows the certificate. */
const ABOUT_CERTIFICATE: ReadonlySet<CauseName> = new Set([
  "tls-expired",
  "tls-not-yet-valid",
  "tls-wrong-name",
  "tls-unknown-authority",
]);

/** Finds out why the request failed; `recheck` limits the further requests that this may need. */
export async function serverFailure(
  thrown: unknown,
  server: ServerConfig,
  seen: ServerFacts,
  limits: RecheckLimits,
): Promise<Finding> {
  const [cause, words] = await causeOf(thrown, server, seen, limits);
  const certificate =
    seen.tls?.certificate ??
    (ABOUT_CERTIFICATE.has(cause) ? await fetchCertificate(server, limits) : undefined);
  const shown = certificate && certificateFacts(certificate, Date.now());
  const about =
    shown && ABOUT_CERTIFICATE.has(cause)
      ? ` (for ${shown.names.join(", ")}; issued by ${shown.issuer}; valid ${shown.from} to ${shown.until})`
      : "";
  const clocks =
    certificate && OUTSIDE_VALIDITY.has(cause) ? await compareClocks(certificate, server, limits) : "";
  const [, host = server.server, port = ""] = /^(.*):(\d+)$/.exec(server.server) ?? [];
  return findingOf(cause, `${words}${about}${clocks}`, {
    subject: server.server,
    facts: {
      host: host.replace(/^\[|\]$/g, ""),
      port,
      issuer: shown?.issuer ?? "see openssl s_client -showcerts",
      names: shown?.names.join(", ") ?? "see openssl s_client",
      subject: server.clientCertificate === undefined ? "it" : subjectOf(server.clientCertificate),
    },
  });
}

const OUTSIDE_VALIDITY: ReadonlySet<CauseName> = new Set(["tls-expired", "tls-not-yet-valid"]);

/** What the clocks of both sides say about a certificate that is not valid now. */
async function compareClocks(
  { valid_from: from, valid_to: until }: PeerCertificate,
  server: ServerConfig,
  limits: RecheckLimits,
): Promise<string> {
  const answer = await askOverHttp1(server, limits);
  const { date } = answer?.headers ?? {};
  const peerMs = typeof date === "string" ? Date.parse(date) : undefined;
  const times = { fromMs: Date.parse(from), untilMs: Date.parse(until), nowMs: Date.now(), peerMs };
  const found = findClockProblem(times, "the server");
  return found === undefined ? "" : `; ${found.text}`;
}

type CauseAndWords = readonly [cause: CauseName, words: string];

async function causeOf(
  thrown: unknown,
  server: ServerConfig,
  seen: ServerFacts,
  limits: RecheckLimits,
): Promise<CauseAndWords> {
  if (thrown instanceof ConnectError && thrown.cause instanceof ProxyError)
    return ["http-proxy-unusable", thrown.cause.message];
  const codes = codesOf(thrown);
  if (codes.includes("ETIMEDOUT") || thrown instanceof TimeoutReached) return silent(server, seen);
  for (const code of codes) {
    const found = BY_CODE[code];
    if (found?.[0] === "server-without-http2") return (await overHttp1(server, limits)) ?? found;
    if (found) return found;
  }
  const answer = answerOf(seen);
  const byStatus = answer && causeOfAnswer(answer);
  if (byStatus) return byStatus;
  if (thrown instanceof ConnectError && thrown.isWireError) return answered(thrown);
  if (server.tls) {
    if (!seen.tls) return withoutHandshake(codes, server, seen, limits);
    if (isSilence(thrown)) return silent(server, seen);
    if (!seen.answer) return (await overHttp1(server, limits)) ?? droppedAfterHandshake(server);
  } else if (seen.connected && !seen.answer) {
    // No answer, or an answer that is not HTTP/2.
    if (await fetchCertificate(server, limits)) return ["server-with-tls", "the server uses TLS"];
    if (isSilence(thrown)) return silent(server, seen);
    const otherwise = await overHttp1(server, limits);
    if (otherwise) return otherwise;
    return isEnd(thrown, codes)
      ? ["connection-broken", "it accepts the connection and closes it"]
      : ["server-without-http2", "the server does not support HTTP/2"];
  }
  if (isSilence(thrown)) return silent(server, seen);
  if (seen.answer) return ["no-workflow-api", `the server is not a gRPC server: ${messageOf(thrown)}`];
  return ["connection-broken", messageOf(thrown)];
}

/** The HTTP answer that came instead of a gRPC one; undefined if there was none. */
function answerOf({ answer }: ServerFacts): ProxyAnswer | undefined {
  const status = Number(answer?.fields[":status"] ?? 200);
  return answer && status !== 200 ? { status, headers: answer.fields } : undefined;
}

/** The answer over HTTP/1.1 from a server that does not speak HTTP/2; undefined if it speaks neither. */
async function overHttp1(server: ServerConfig, limits: RecheckLimits): Promise<CauseAndWords | undefined> {
  const answer = await askOverHttp1(server, limits);
  if (!answer) return undefined;
  const found = causeOfAnswer(answer);
  const words = "it speaks HTTP/1.1, but not HTTP/2";
  if (found?.[0] === "proxy-redirects") return [found[0], `${words}: ${found[1]}`];
  return ["server-without-http2", found ? `${words}; ${found[1]}` : words];
}

function silent({ tls }: ServerConfig, seen: ServerFacts): CauseAndWords {
  const words = !seen.connected
    ? "no connection within the time"
    : tls && !seen.tls
      ? "it accepts the connection but does not start TLS"
      : "it accepts the connection but sends nothing";
  return ["server-silent", words];
}

/** Explains a connection whose TLS handshake failed. */
async function withoutHandshake(
  codes: readonly string[],
  server: ServerConfig,
  seen: ServerFacts,
  limits: RecheckLimits,
): Promise<CauseAndWords> {
  if (await acceptsPlaintext(server, limits)) return ["server-without-tls", "the server does not use TLS"];
  const ssl = codes.find((code) => code.startsWith("ERR_SSL_"));
  if (ssl === "ERR_SSL_WRONG_VERSION_NUMBER") {
    return ["server-without-tls", "the server does not use TLS"];
  }
  if (ssl !== undefined) {
    const words = ssl.slice("ERR_SSL_".length).toLowerCase().replaceAll("_", " ");
    return ["tls-failed", `the TLS handshake failed: ${words}`];
  }
  return seen.connected
    ? ["connection-broken", "the connection ended in the TLS handshake"]
    : ["connection-broken", "the connection ended before the TLS handshake"];
}

/** In TLS 1.3 a client finishes before the server has verified its certificate; many servers then just close the connection. */
function droppedAfterHandshake(server: ServerConfig): CauseAndWords {
  return server.clientCertificate === undefined
    ? [
        "client-certificate-wanted",
        "it closes the connection right after the TLS handshake, probably because it requires a client certificate",
      ]
    : [
        "client-certificate-refused",
        "it closes the connection right after the TLS handshake, probably because it rejects the client certificate",
      ];
}

function answered({ code, rawMessage }: ConnectError): CauseAndWords {
  if (code === Code.Unavailable && saysNoUpstream(rawMessage)) {
    return [
      "server-behind-proxy-down",
      `a proxy answers that it cannot reach the tink server: ${rawMessage}`,
    ];
  }
  return ["server-error", `it answers ${Code[code] ?? code}${rawMessage === "" ? "" : `: ${rawMessage}`}`];
}

function isSilence(thrown: unknown): boolean {
  return thrown instanceof ConnectError && /does not speak HTTP\/2|does not answer/.test(thrown.rawMessage);
}

function isEnd(thrown: unknown, codes: readonly string[]): boolean {
  if (codes.includes("ECONNRESET") || codes.includes("EPIPE")) return true;
  return thrown instanceof ConnectError && /the connection was closed/.test(thrown.rawMessage);
}

/** The codes of an error and its causes. A host with several addresses fails with one error per address. */
function codesOf(thrown: unknown, depth = 0): readonly string[] {
  if (!(thrown instanceof Error) || depth > 5) return [];
  const own = "code" in thrown && typeof thrown.code === "string" ? [thrown.code] : [];
  const inner = thrown instanceof AggregateError ? thrown.errors : [];
  return [...own, ...[...inner, thrown.cause].flatMap((error) => codesOf(error, depth + 1))];
}

function subjectOf(certificate: string): string {
  return new X509Certificate(certificate).subject.replaceAll("\n", ", ");
}

function messageOf(thrown: unknown): string {
  if (thrown instanceof ConnectError) return thrown.rawMessage || (Code[thrown.code] ?? String(thrown.code));
  return textOf(thrown);
}
