import { X509Certificate } from "node:crypto";
import { withTimeout } from "../../shared/timeout.ts";
import type { ServerConfig } from "../config/worker-config.ts";
import { createDialer } from "../source/grpc/dial.ts";
import { speaksLegacy } from "../source/tink-legacy/speaks-legacy.ts";
import { certificateFacts, termOf } from "./certificate-facts.ts";
import { type Finding, isWell, isWrong } from "./finding.ts";
import { serverFailure } from "./server-failure.ts";
import { type Seen, WatchedChannel } from "./watched-channel.ts";

/**
 * The agent ID that the question for the API bears. Nobody's: what a server has for an agent ID of the worker must not come
 * here, and it is not even looked for.
 */
export const DOCTOR_AGENT_ID = "pbnj-worker-doctor";

const APIS = {
  current: "current API (Tinkerbell 0.17 or later)",
  legacy: "deprecated API (tink 0.8 to 0.12)",
} as const;

/** gRPC's own words in Go for a service that is not there; a server of the API lacks the method alone. */
const NO_SERVICE = /unknown service/i;
/** An HTTP date has whole seconds, and clocks that keep time by NTP are closer than this. */
const MOST_SKEW_MS = 30_000;
const CONNECT_MS = 10_000;
/** Of the one or two looks that find out why there was no answer. */
const MOST_LOOK_MS = 3_000;

/**
 * Asks the tink server for its API as a worker does at its start: by `GetWorkflowContexts` of the deprecated API, which
 * lists and changes nothing, and which the current one answers with UNIMPLEMENTED. `GetAction` is never called. It hands out
 * an action, and a server with auto-enrollment or auto-discovery makes a workflow or hardware for an agent ID that it does
 * not know. Nor is `ReportActionStatus`, which both APIs have with different messages.
 */
export async function checkServer(
  server: ServerConfig,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const connectTimeoutMs = Math.min(CONNECT_MS, Math.ceil(timeoutMs / 2));
  const channel = new WatchedChannel(createDialer({ ...server, connectTimeoutMs }), {
    pingIntervalMs: timeoutMs,
    pingTimeoutMs: timeoutMs,
  });
  let isLegacy: boolean;
  try {
    // Some of the time is left to find out why it failed.
    const askingMs = Math.ceil(timeoutMs * 0.7);
    isLegacy = await withTimeout(askingMs, signal, () => speaksLegacy(channel, DOCTOR_AGENT_ID));
  } catch (thrown) {
    signal.throwIfAborted();
    const look = { ms: Math.min(MOST_LOOK_MS, Math.ceil(timeoutMs * 0.12)), signal };
    return [await serverFailure(thrown, server, channel.seen, look)];
  } finally {
    await channel.close();
  }
  return judge(server, isLegacy ? "legacy" : "current", channel.seen);
}

function judge(server: ServerConfig, api: keyof typeof APIS, seen: Seen): readonly Finding[] {
  const subject = server.server;
  const words = grpcMessage(seen);
  if (api === "current" && NO_SERVICE.test(words)) {
    return [isWrong("no-workflow-api", `a gRPC server without a workflow API: ${words}`, { subject })];
  }
  const detail = [APIS[api], ...tlsWords(server, seen)].join(", ");
  const other = server.api !== "auto" && server.api !== api;
  return [
    ...(other
      ? [isWrong("other-api", `${detail}, but --grpc-api is ${server.api}`, { subject, facts: { api } })]
      : api === "legacy"
        ? [isWrong("deprecated-api", detail, { subject })]
        : [isWell("tink-server", detail, subject)]),
    ...certificateWarnings(server, seen),
    ...clockWarnings(server, seen),
  ];
}

function tlsWords({ tls, insecureTls }: ServerConfig, { tls: spoken }: Seen): readonly string[] {
  if (!tls || !spoken) return ["without TLS"];
  const { subject, until } = certificateFacts(spoken.certificate, Date.now());
  const trust = insecureTls ? " (not verified)" : "";
  return [spoken.version.replace("TLSv", "TLS "), `certificate of ${subject} valid until ${until}${trust}`];
}

function certificateWarnings(server: ServerConfig, { tls: spoken }: Seen): readonly Finding[] {
  const subject = server.server;
  const found: Finding[] = [];
  if (spoken) {
    const { term, until } = certificateFacts(spoken.certificate, Date.now());
    const detail = `the server's certificate is valid until ${until}`;
    if (term === "ends-soon") found.push(isWrong("certificate-ends-soon", detail, { subject }));
    if (term === "expired") found.push(isWrong("certificate-expired-but-taken", detail, { subject }));
  }
  if (server.clientCertificate !== undefined) {
    const { validToDate } = new X509Certificate(server.clientCertificate);
    const until = validToDate.toISOString().slice(0, 10);
    if (termOf(validToDate.getTime(), Date.now()) !== "valid") {
      const detail = `the worker's own certificate is valid until ${until}`;
      found.push(isWrong("certificate-ends-soon", detail, { subject }));
    }
  }
  return found;
}

/** Go's gRPC servers tell no time; proxies do. */
function clockWarnings({ server: subject }: ServerConfig, { answer }: Seen): readonly Finding[] {
  const date = answer?.fields["date"];
  const serverMs = typeof date === "string" ? Date.parse(date) : Number.NaN;
  if (answer === undefined || Number.isNaN(serverMs)) return [];
  // The second had begun by then.
  const earliestMs = answer.beforeMs - MOST_SKEW_MS - 1_000;
  const latestMs = answer.afterMs + MOST_SKEW_MS;
  if (serverMs >= earliestMs && serverMs <= latestMs) return [];
  const [theirs, ours] = [serverMs, answer.afterMs].map((ms) => new Date(ms).toISOString().slice(0, 19));
  return [isWrong("clock-differs", `its clock says ${theirs}Z, this host's ${ours}Z`, { subject })];
}

function grpcMessage({ answer }: Seen): string {
  const message = answer?.fields["grpc-message"];
  if (typeof message !== "string") return "";
  try {
    return decodeURIComponent(message);
  } catch {
    return message;
  }
}
