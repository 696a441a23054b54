import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import {
  type Environment,
  parseKeyValues,
  tracesEndpoint,
  tracesProtocol,
} from "../../../shared/tracing/variables.ts";

/** The time limit for sending, so that a slow collector does not delay the action. */
const LONGEST_MS = 1_000;

/**
 * Sends spans once to the collector that the environment names, as JSON in OTLP over HTTP, which collectors accept as well
 * as protobuf. Never rejects. Resolves to the reason in one line if it failed, without the address, which may contain a
 * password.
 */
export async function postSpans(env: Environment, body: string): Promise<string | undefined> {
  const protocol = tracesProtocol(env);
  if (protocol !== "http/protobuf" && protocol !== "http/json") {
    return `spans not sent: OTEL_EXPORTER_OTLP_PROTOCOL ${protocol} is not supported, use http/json`;
  }
  const url = URL.parse(tracesEndpoint(env) ?? "");
  if (url?.protocol !== "http:" && url?.protocol !== "https:") {
    return "spans not sent: OTEL_EXPORTER_OTLP_ENDPOINT is not an http or https URL";
  }
  const headers = {
    ...parseKeyValues(env["OTEL_EXPORTER_OTLP_HEADERS"]),
    ...parseKeyValues(env["OTEL_EXPORTER_OTLP_TRACES_HEADERS"]),
  };
  try {
    const status = await post(url, headers, body, timeoutMs(env));
    return status < 300 ? undefined : `spans not sent: the collector answered ${status}`;
  } catch (thrown) {
    const code = thrown instanceof Error && "code" in thrown ? thrown.code : undefined;
    const reason = code === "ABORT_ERR" ? "no answer in time" : (code ?? "the request failed");
    return `spans not sent: ${reason}`;
  }
}

function post(
  url: URL,
  headers: Readonly<Record<string, string>>,
  body: string,
  limitMs: number,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = url.protocol === "https:" ? requestHttps : requestHttp;
    const sent = request(
      url,
      {
        method: "POST",
        headers: { ...headers, "content-type": "application/json" },
        signal: AbortSignal.timeout(limitMs),
      },
      (answer) => {
        resolve(answer.statusCode ?? 0);
        answer.destroy();
      },
    );
    sent.on("error", reject);
    sent.end(body);
  });
}

function timeoutMs(env: Environment): number {
  const given = env["OTEL_EXPORTER_OTLP_TRACES_TIMEOUT"] || env["OTEL_EXPORTER_OTLP_TIMEOUT"];
  const wanted = Number(given || LONGEST_MS);
  return wanted > 0 ? Math.min(wanted, LONGEST_MS) : LONGEST_MS;
}
