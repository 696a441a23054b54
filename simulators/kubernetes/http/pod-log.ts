import type { ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { type Dispatcher, request } from "undici";
import { textOf } from "../../../shared/text-of.ts";
import { ApiFailure, badRequest } from "../api/failure.ts";
import type { KubeObject } from "../api/object.ts";

interface NodeStatus {
  readonly addresses: readonly { readonly address: string }[];
  readonly daemonEndpoints: { readonly kubeletEndpoint: { readonly Port: number } };
}

/** Forwards the log of a container from the kubelet of its node, because the API server keeps no logs. */
export async function forwardLog(
  response: ServerResponse,
  pod: KubeObject,
  node: KubeObject,
  query: URLSearchParams,
  dispatcher: Dispatcher,
): Promise<void> {
  const { namespace, name } = pod.metadata;
  const { containers } = pod.spec as unknown as { containers: readonly { name: string }[] };
  const names = containers.map((container) => container.name);
  const container = query.get("container") ?? (names.length === 1 ? names[0] : undefined);
  if (container === undefined) throw badRequest(`a container name must be specified for pod ${name}`);
  if (!names.includes(container)) throw badRequest(`container ${container} is not valid for pod ${name}`);
  const { addresses, daemonEndpoints } = node.status as unknown as NodeStatus;
  const origin = `https://${addresses[0]?.address}:${daemonEndpoints.kubeletEndpoint.Port}`;
  const url = `${origin}/containerLogs/${namespace}/${name}/${container}?${query}`;
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  const answer = await request(url, { dispatcher, signal: gone.signal, bodyTimeout: 0 }).catch(
    (thrown: unknown) => {
      throw new ApiFailure(500, "InternalError", `Get "${url}": ${textOf(thrown)}`);
    },
  );
  if (answer.statusCode !== 200) {
    const text = await answer.body.text();
    throw answer.statusCode === 400 ? badRequest(text) : new ApiFailure(answer.statusCode, "Unknown", text);
  }
  response.writeHead(200, { "Content-Type": "text/plain" });
  response.flushHeaders();
  await pipeline(answer.body, response);
}
