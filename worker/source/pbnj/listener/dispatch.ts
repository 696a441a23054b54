import type { IncomingMessage, ServerResponse } from "node:http";
import { constants, type Http2ServerRequest, type Http2ServerResponse } from "node:http2";
import { createContextValues } from "@connectrpc/connect";
import type { UniversalHandler } from "@connectrpc/connect/protocol";
import { universalRequestFromNodeRequest, universalResponseToNodeResponse } from "@connectrpc/connect-node";
import type { Logger } from "../../../../shared/logger.ts";
import { textOf } from "../../../../shared/text-of.ts";
import { namesLoopback } from "../../../config/loopback.ts";
import { CONNECTION } from "./authenticate.ts";
import type { Connections } from "./connections.ts";
import type { ListenerLimits } from "./limits.ts";

export type ApiRequest = IncomingMessage | Http2ServerRequest;
export type ApiResponse = ServerResponse | Http2ServerResponse;

export interface DispatchOptions {
  readonly handlers: readonly UniversalHandler[];
  readonly connections: Connections;
  readonly limits: Pick<ListenerLimits, "bodyTimeoutMs" | "callTimeoutMs">;
  /** Whether only this host reaches the address. */
  readonly isLoopback: () => boolean;
  readonly log: Logger;
}

/** Takes a request to its method's handler, within the time limits. */
export function createDispatch({ handlers, connections, limits, isLoopback, log }: DispatchOptions) {
  const byPath = new Map(handlers.map((handler) => [handler.requestPath, handler]));
  return (request: ApiRequest, response: ApiResponse): void => {
    request.on("error", () => undefined);
    response.on("error", () => undefined);
    const connection = connections.of(request.socket);
    const isHttp2 = "stream" in request;
    // Pipelined requests would queue as many answers as requests fit into one packet.
    if (!connection || (!isHttp2 && connection.calls > 0)) {
      abort(request);
      return;
    }
    connection.beginCall();
    response.once("close", () => connections.callEnded(connection));
    const host = isHttp2 ? request.authority : request.headers.host;
    if (!isHost(host)) {
      refuse(response, 400, "invalid_argument", "the request names no host");
      return;
    }
    if (isLoopback() && !namesLoopback(host)) {
      refuse(response, 403, "permission_denied", "this address is served to this machine alone");
      return;
    }
    const handler = byPath.get(request.url?.split("?", 1)[0] ?? "");
    limitTimes(request, response, handler, limits);
    if (!handler) {
      refuse(response, 404, "unimplemented", "there is no such method");
      return;
    }
    const values = createContextValues().set(CONNECTION, connection);
    const universal = universalRequestFromNodeRequest(request, response, undefined, values);
    handler(universal)
      .then((answer) => universalResponseToNodeResponse(answer, response))
      // Errors of methods are answers: this is a client that has disconnected.
      .catch((thrown) => log.debug({ error: textOf(thrown) }, "API answer not sent"));
  };
}

/** Whether it can be the host of a URL, which Connect builds from it. */
function isHost(host: string | undefined): host is string {
  return host !== undefined && /^[\w.[\]:-]{1,300}$/.test(host) && URL.canParse(`http://${host}`);
}

/** Ends a request whose body does not arrive, or whose answer takes too long or is not read. */
function limitTimes(
  request: ApiRequest,
  response: ApiResponse,
  handler: UniversalHandler | undefined,
  { bodyTimeoutMs, callTimeoutMs }: DispatchOptions["limits"],
): void {
  const kind = handler?.method.methodKind ?? "unary";
  if (kind === "unary" || kind === "server_streaming") {
    const timer = setTimeout(() => abort(request), bodyTimeoutMs);
    for (const event of ["end", "close"]) request.once(event, () => clearTimeout(timer));
  }
  if (kind === "unary") {
    const timer = setTimeout(() => abort(request), callTimeoutMs);
    response.once("close", () => clearTimeout(timer));
  }
}

function abort(request: ApiRequest): void {
  if ("stream" in request) request.stream.close(constants.NGHTTP2_CANCEL);
  else request.socket.destroy();
}

/** As the Connect protocol answers; gRPC clients use the HTTP status. */
function refuse(response: ApiResponse, status: number, code: string, message: string): void {
  response.statusCode = status;
  response.setHeader("content-type", "application/json");
  // What follows such a request cannot be trusted.
  if (!("stream" in response)) response.setHeader("connection", "close");
  response.end(`${JSON.stringify({ code, message })}\n`);
}
