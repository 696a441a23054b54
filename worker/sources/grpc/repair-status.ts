import type { IncomingHttpHeaders } from "node:http2";
import { findTrailerError } from "@connectrpc/connect/protocol-grpc";

const MESSAGE = "grpc-message";
const DETAILS = "grpc-status-details-bin";

/**
 * Changes a gRPC status that Connect cannot decode so that its code survives: removes malformed details, and keeps a message
 * with malformed percent-encoding as it was sent (gRPC over HTTP/2, Responses).
 */
export function repairStatus(fields: IncomingHttpHeaders): void {
  if (isReadable(fields)) return;
  delete fields[DETAILS];
  if (isReadable(fields)) return;
  fields[MESSAGE] = encodeURIComponent(String(fields[MESSAGE]));
}

function isReadable(fields: IncomingHttpHeaders): boolean {
  try {
    const headers = new Headers();
    for (const name of ["grpc-status", MESSAGE, DETAILS]) {
      const value = fields[name];
      if (value !== undefined) headers.set(name, String(value));
    }
    findTrailerError(headers);
    return true;
  } catch {
    return false;
  }
}
