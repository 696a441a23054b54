import type { connectNodeAdapter } from "@connectrpc/connect-node";

type Fallback = NonNullable<Parameters<typeof connectNodeAdapter>[0]["fallback"]>;

/** What a gRPC server in Go answers to a method that it does not have: a status, not a page that is not found. */
export const unimplemented: Fallback = (request, response) => {
  const [, service = "", method = ""] = (request.url ?? "").split("/");
  request.resume();
  response.writeHead(200, {
    "content-type": "application/grpc",
    "grpc-status": "12",
    "grpc-message": `unknown method ${method} for service ${service}`,
  });
  response.end();
};
