import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { withTimeout } from "../../../shared/timeout.ts";
import type { Channel } from "../grpc/channel.ts";
import { WorkflowService } from "./gen/workflow_pb.ts";

/** The deprecated server answers at once; a proxy without a server behind it may never answer. */
const QUESTION_TIMEOUT_MS = 15_000;

/**
 * Whether the server behind a channel implements the deprecated API: makes the one call that changes nothing.
 * Rejects without an answer to that: the server cannot be reached, or something else answers in its place.
 */
export async function speaksLegacy(channel: Channel, agentId: string): Promise<boolean> {
  const client = createClient(
    WorkflowService,
    createGrpcTransport({ baseUrl: channel.authority, sessionManager: channel }),
  );
  const never = new AbortController().signal;
  return withTimeout(QUESTION_TIMEOUT_MS, never, async (signal) => {
    try {
      for await (const _ of client.getWorkflowContexts({ workerId: agentId }, { signal })) break;
      return true;
    } catch (thrown) {
      const error = ConnectError.from(thrown);
      // Only a gRPC server's own status counts: a proxy's 404 has the same code.
      if (error.code === Code.Unimplemented && error.isWireError) return false;
      throw thrown;
    }
  });
}
