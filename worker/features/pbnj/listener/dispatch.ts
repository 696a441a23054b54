import type { IncomingMessage, ServerResponse } from "node:http";
import { constants, type Http2ServerRequest, type Http2ServerResponse } from "node:http2";
import type { DescMethod, DescService } from "@bufbuild/protobuf";
import { hostsNamed, namesLoopback } from "../../../listener/loopback.ts";
import type { Connections } from "./connections.ts";
import type { ListenerLimits } from "./limits.ts";

export type ApiRequest = IncomingMessage | Http2ServerRequest;
export type ApiResponse = ServerResponse | Http2ServerResponse;

export interface DispatchOptions {
  readonly services: readonly DescService[];
  /** The handler for all services, from `connectNodeAdapter`. */
  readonly adapter: (request: ApiRequest, response: ApiResponse) => void;
  readonly connections: Connections;
  readonly limits: ListenerLimits;
  /** Whether the address can be reached only from this host. */
  readonly isLoopback: () => boolean;
}

const FORM = "application/x-www-form-urlencoded";
const JSON_TYPE = "application/json";

/** Passes requests within the limits to the adapter, and ends the others. */
export function createDispatch({ services, adapter, connections, limits, isLoopback }: DispatchOptions) {
  const kinds = new Map<string, Kind>(
    services.flatMap(({ typeName, methods }) =>
      methods.map(({ name, methodKind }) => [`/${typeName}/${name}`, methodKind] as const),
    ),
  );
  return (request: ApiRequest, response: ApiResponse): void => {
    request.on("error", () => undefined);
    response.on("error", () => undefined);
    const connection = connections.of(request);
    // Pipelined requests would queue as many answers as there are requests in one packet.
    if (!connection || (!("stream" in request) && connection.calls > 0)) {
      abort(request);
      return;
    }
    const kind = kinds.get(request.url?.split("?", 1)[0] ?? "");
    const isStreaming = kind !== undefined && kind !== "unary";
    if (!connections.hasRoom(connection, isStreaming)) {
      // Clients retry a refused stream (RFC 9113 section 8.7).
      abort(request, constants.NGHTTP2_REFUSED_STREAM);
      return;
    }
    connection.beginCall(isStreaming);
    response.once("close", () => connections.callEnded(connection, isStreaming));
    limitTimes(request, response, kind, limits);
    const refusal = refusalOf(request, limits, isLoopback()) ?? (kind ? undefined : UNKNOWN_METHOD);
    if (refusal) {
      refuse(response, refusal);
      return;
    }
    // `curl -d` sends everything with the content type of a form.
    if (request.headers["content-type"] === FORM) request.headers["content-type"] = JSON_TYPE;
    adapter(request, response);
  };
}

type Kind = DescMethod["methodKind"];

interface Refusal {
  /** The HTTP status, which gRPC clients use. */
  readonly status: number;
  /** The error code of the Connect protocol. */
  readonly code: string;
  readonly message: string;
}

const UNKNOWN_METHOD: Refusal = { status: 404, code: "unimplemented", message: "there is no such method" };

function refusalOf(
  request: ApiRequest,
  { headerBytes }: DispatchOptions["limits"],
  isLoopback: boolean,
): Refusal | undefined {
  const { headers, rawHeaders } = request;
  // Node enforces the limit only for HTTP/1.1.
  if (rawHeaders.join("").length > headerBytes) {
    return { status: 431, code: "resource_exhausted", message: "the headers are too large" };
  }
  const [host] = hostsNamed(rawHeaders) ?? [];
  if (!isHost(host)) {
    return { status: 400, code: "invalid_argument", message: "the request does not name one host" };
  }
  if (isLoopback && !namesLoopback(host)) {
    return {
      status: 403,
      code: "permission_denied",
      message: "this address is served to this machine alone",
    };
  }
  // A web page can send simple requests to this host, even with its visitor's client certificates.
  if (headers.origin !== undefined || headers["sec-fetch-site"] !== undefined) {
    return { status: 403, code: "permission_denied", message: "browsers are not served" };
  }
  return undefined;
}

/** Whether the text is a valid host of a URL, which Connect builds from it. */
function isHost(host: string | undefined): host is string {
  return host !== undefined && /^[\w.[\]:-]{1,300}$/.test(host) && URL.canParse(`http://${host}`);
}

/** Ends a request whose body does not arrive, or whose answer takes too long or is not read. */
function limitTimes(
  request: ApiRequest,
  response: ApiResponse,
  kind: Kind | undefined,
  { bodyTimeoutMs, callTimeoutMs }: DispatchOptions["limits"],
): void {
  const isUnary = kind === undefined || kind === "unary";
  if (isUnary || kind === "server_streaming") {
    const timer = setTimeout(() => abort(request), bodyTimeoutMs);
    for (const event of ["end", "close"]) request.once(event, () => clearTimeout(timer));
  }
  if (isUnary) {
    const timer = setTimeout(() => abort(request), callTimeoutMs);
    response.once("close", () => clearTimeout(timer));
  }
}

function abort(request: ApiRequest, code = constants.NGHTTP2_CANCEL): void {
  if ("stream" in request) request.stream.close(code);
  else request.socket.destroy();
}

/** Answers with an error of the Connect protocol. */
function refuse(response: ApiResponse, { status, code, message }: Refusal): void {
  response.statusCode = status;
  response.setHeader("content-type", JSON_TYPE);
  // Further data after such a request cannot be trusted.
  if (!("stream" in response)) response.setHeader("connection", "close");
  response.end(`${JSON.stringify({ code, message })}\n`);
}
