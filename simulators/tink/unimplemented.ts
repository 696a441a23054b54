import type { connectNodeAdapter } from "@connectrpc/connect-node";

type Fallback = NonNullable<Parameters<typeof connectNodeAdapter>[0]["fallback"]>;

/** Answers an unknown method like a gRPC server in Go: with a status instead of 404. */
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
