import type { ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { type Dispatcher, request } from "undici";
import { textOf } from "../../../../shared/text-of.ts";
import { ApiFailure, badRequest, invalid } from "../api/failure.ts";
import type { KubeObject } from "../api/object.ts";
import { specOf } from "../kinds/pod.ts";
import { FieldErrors } from "../validation/field-errors.ts";
import { parseNumber } from "./list.ts";

/** In the API server's order of preference. */
const ADDRESS_TYPES = ["Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP"];
const FORWARDED = [
  "follow",
  "previous",
  "timestamps",
  "tailLines",
  "limitBytes",
  "sinceSeconds",
  "sinceTime",
];

/** Where the kubelet of a node answers. */
export interface KubeletAddress {
  readonly host: string;
  readonly port: number;
}

/** The address in a Node's status. */
export function kubeletAddressOf(node: KubeObject): KubeletAddress {
  const status = (node.status ?? {}) as {
    addresses?: readonly { type: string; address: string }[];
    daemonEndpoints?: { kubeletEndpoint?: { Port?: number } };
  };
  const hosts = ADDRESS_TYPES.flatMap(
    (wanted) => status.addresses?.filter(({ type }) => type === wanted) ?? [],
  );
  const host = hosts[0]?.address;
  if (host === undefined)
    throw new ApiFailure(500, "InternalError", `no preferred addresses found; known addresses: []`);
  return { host, port: status.daemonEndpoints?.kubeletEndpoint?.Port ?? 10_250 };
}

/** The container whose log is meant. Throws 400 when it is not clear, or 422 for options that cannot be. */
export function chooseContainer(pod: KubeObject, query: URLSearchParams): string {
  const name = pod.metadata.name ?? "";
  const errors = new FieldErrors();
  for (const field of ["tailLines", "sinceSeconds", "limitBytes"]) {
    const value = parseNumber(query.get(field));
    if (value < 0) errors.invalid(field, value, "must be greater than or equal to 0");
  }
  if (query.has("sinceSeconds") && query.has("sinceTime"))
    errors.forbidden("", "at most one of `sinceTime` or `sinceSeconds` may be specified");
  if (errors.causes.length > 0) throw invalid({ kind: "PodLogOptions", group: "" }, name, errors.causes);
  const spec = specOf(pod);
  const names = [...(spec.initContainers ?? []), ...spec.containers].map((container) => container.name);
  const asked = query.get("container") ?? "";
  if (asked !== "") {
    if (!names.includes(asked)) throw badRequest(`container ${asked} is not valid for pod ${name}`);
    return asked;
  }
  const [only] = names;
  if (names.length !== 1 || only === undefined)
    throw badRequest(
      `a container name must be specified for pod ${name}, choose one of: [${names.join(" ")}]`,
    );
  return only;
}

/** Passes on what the node's kubelet says, as the API server does: it keeps no logs of its own. */
export async function forwardLog(
  response: ServerResponse,
  { host, port }: KubeletAddress,
  pod: KubeObject,
  container: string,
  query: URLSearchParams,
  dispatcher: Dispatcher,
  signal: AbortSignal,
): Promise<void> {
  const { namespace, name } = pod.metadata;
  const forwarded = new URLSearchParams([...query].filter(([field]) => FORWARDED.includes(field)));
  const url = `https://${host}:${port}/containerLogs/${namespace}/${name}/${container}?${forwarded}`;
  const answer = await request(url, { dispatcher, signal, bodyTimeout: 0 }).catch((thrown: unknown) => {
    const why = textOf(thrown);
    throw new ApiFailure(500, "InternalError", `Get ${JSON.stringify(url)}: ${why}`);
  });
  if (answer.statusCode !== 200) {
    const text = (await answer.body.text()).trim();
    if (answer.statusCode === 400) throw badRequest(text);
    throw new ApiFailure(answer.statusCode, "Unknown", text);
  }
  response.writeHead(200, { "Content-Type": "text/plain" });
  response.flushHeaders();
  await pipeline(answer.body, response);
}
