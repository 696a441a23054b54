import { Code, ConnectError } from "@connectrpc/connect";
import { acknowledgementOfError } from "../grpc/errors.ts";
import type { Acknowledgement } from "../source.ts";

/** The server's message when the workflow's current action is another one. */
const MOVED_ON = /\breported (task|action) name does not match\b/;

/**
 * Converts anything `ReportActionStatus` threw to an acknowledgement. This server answers every error with InvalidArgument.
 * A name that does not match means that the workflow has moved on: the server has an earlier report of the same end, or the
 * workflow was recreated. `invalid workflow id` means a deleted workflow, a write conflict or a store that does not answer,
 * so the report is retried a few times.
 */
export function legacyAcknowledgementOf(thrown: unknown): Exclude<Acknowledgement, { kind: "acknowledged" }> {
  const answer = acknowledgementOfError(thrown);
  if (ConnectError.from(thrown).code !== Code.InvalidArgument || MOVED_ON.test(answer.reason)) return answer;
  return { kind: "retry", code: answer.code, reason: answer.reason, perhapsGone: true };
}
