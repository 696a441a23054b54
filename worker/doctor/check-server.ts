import { X509Certificate } from "node:crypto";
import { withTimeout } from "../../shared/timeout.ts";
import { speaksLegacy } from "../features/legacy/legacy-transport.ts";
import { type Finding, findingOf, okFinding } from "../findings/finding.ts";
import { createDialer } from "../sources/grpc/dial.ts";
import type { ServerConfig } from "../sources/server/server-settings.ts";
import { certificateFacts, termOf } from "./certificate-facts.ts";
import { RecordingChannel, type ServerFacts } from "./recording-channel.ts";
import { serverFailure } from "./server-failure.ts";

/** The agent ID of the doctor's request. It is not one of the worker's, so the server has no action for it. */
export const DOCTOR_AGENT_ID = "pbnj-worker-doctor";

const APIS = {
  current: "current API (Tinkerbell 0.17 or later)",
  legacy: "deprecated API (tink 0.8 to 0.12)",
} as const;

/** The answer of gRPC for Go if a service does not exist. A server with the API lacks only the method. */
const NO_SERVICE = /unknown service/i;
/** HTTP dates have whole seconds, and clocks synchronized by NTP differ by less than this. */
const MAX_SKEW_MS = 30_000;
const CONNECT_MS = 10_000;
/** Limit for each recheck after a failure. */
const MAX_RECHECK_MS = 3_000;

/**
 * Detects the tink server's API as the worker does: with `GetWorkflowContexts` of the deprecated API, which is read-only
 * and which the current API answers with UNIMPLEMENTED. It never calls `GetAction`, which returns an action and, with
 * auto-enrollment or auto-discovery, creates a workflow or hardware for an unknown agent ID. Nor does it call
 * `ReportActionStatus`, which both APIs have with different messages.
 */
export async function checkServer(
  server: ServerConfig,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const connectTimeoutMs = Math.min(CONNECT_MS, Math.ceil(timeoutMs / 2));
  const channel = new RecordingChannel(createDialer({ ...server, connectTimeoutMs }), {
    pingIntervalMs: timeoutMs,
    pingTimeoutMs: timeoutMs,
  });
  let isLegacy: boolean;
  try {
    // The remaining time is for finding out why the request failed.
    const askingMs = Math.ceil(timeoutMs * 0.7);
    isLegacy = await withTimeout(askingMs, signal, () => speaksLegacy(channel, DOCTOR_AGENT_ID));
  } catch (thrown) {
    signal.throwIfAborted();
    const recheck = { ms: Math.min(MAX_RECHECK_MS, Math.ceil(timeoutMs * 0.12)), signal };
    return [await serverFailure(thrown, server, channel.seen, recheck)];
  } finally {
    await channel.close();
  }
  return findingsFrom(server, isLegacy ? "legacy" : "current", channel.seen);
}

function findingsFrom(server: ServerConfig, api: keyof typeof APIS, seen: ServerFacts): readonly Finding[] {
  const subject = server.server;
  const words = grpcMessage(seen);
  if (api === "current" && NO_SERVICE.test(words)) {
    return [findingOf("no-workflow-api", `a gRPC server without a workflow API: ${words}`, { subject })];
  }
  const detail = [APIS[api], ...tlsWords(server, seen)].join(", ");
  const other = server.api !== "auto" && server.api !== api;
  return [
    ...(other
      ? [findingOf("other-api", `${detail}, but --grpc-api is ${server.api}`, { subject, facts: { api } })]
      : api === "legacy"
        ? [findingOf("deprecated-api", detail, { subject })]
        : [okFinding("tink-server", detail, subject)]),
    ...certificateWarnings(server, seen),
    ...clockWarnings(server, seen),
  ];
}

function tlsWords({ tls, insecureTls }: ServerConfig, { tls: spoken }: ServerFacts): readonly string[] {
  if (!tls || !spoken) return ["without TLS"];
  const { subject, until } = certificateFacts(spoken.certificate, Date.now());
  const trust = insecureTls ? " (not verified)" : "";
  return [spoken.version.replace("TLSv", "TLS "), `certificate of ${subject} valid until ${until}${trust}`];
}

function certificateWarnings(server: ServerConfig, { tls: spoken }: ServerFacts): readonly Finding[] {
  const subject = server.server;
  const found: Finding[] = [];
  if (spoken) {
    const { term, until } = certificateFacts(spoken.certificate, Date.now());
    const detail = `the server's certificate is valid until ${until}`;
    if (term === "ends-soon") found.push(findingOf("certificate-ends-soon", detail, { subject }));
    if (term === "expired") found.push(findingOf("certificate-expired-but-taken", detail, { subject }));
  }
  if (server.clientCertificate !== undefined) {
    const { validToDate } = new X509Certificate(server.clientCertificate);
    const until = validToDate.toISOString().slice(0, 10);
    if (termOf(validToDate.getTime(), Date.now()) !== "valid") {
      const detail = `the worker's own certificate is valid until ${until}`;
      found.push(findingOf("certificate-ends-soon", detail, { subject }));
    }
  }
  return found;
}

/** Warns if the clocks differ. gRPC servers in Go send no date, but proxies do. */
function clockWarnings({ server: subject }: ServerConfig, { answer }: ServerFacts): readonly Finding[] {
  const date = answer?.fields["date"];
  const serverMs = typeof date === "string" ? Date.parse(date) : Number.NaN;
  if (answer === undefined || Number.isNaN(serverMs)) return [];
  // The date is rounded down to a second.
  const earliestMs = answer.beforeMs - MAX_SKEW_MS - 1_000;
  const latestMs = answer.afterMs + MAX_SKEW_MS;
  if (serverMs >= earliestMs && serverMs <= latestMs) return [];
  const [theirs, ours] = [serverMs, answer.afterMs].map((ms) => new Date(ms).toISOString().slice(0, 19));
  return [findingOf("clock-differs", `its clock says ${theirs}Z, this host's ${ours}Z`, { subject })];
}

function grpcMessage({ answer }: ServerFacts): string {
  const message = answer?.fields["grpc-message"];
  if (typeof message !== "string") return "";
  try {
    return decodeURIComponent(message);
  } catch {
    return message;
  }
}
