import { Code, ConnectError } from "@connectrpc/connect";
import { acknowledgementOfError } from "../grpc/errors.ts";
import type { Acknowledgement } from "../source.ts";

/** What the server says when another action is the workflow's current one by now. */
const MOVED_ON = /\breported (task|action) name does not match\b/;

/**
 * Anything `ReportActionStatus` threw as an acknowledgement. This server says InvalidArgument to everything that is wrong. When
 * it names the reason, the workflow has moved on: an earlier report of the same end was taken, or the workflow is another
 * one. `invalid workflow id` may mean a workflow that is gone, and as well that two writes met or that the store did not
 * answer, so that it is worth a few repetitions.
 */
export function legacyAcknowledgementOf(thrown: unknown): Exclude<Acknowledgement, { kind: "acknowledged" }> {
  const answer = acknowledgementOfError(thrown);
  if (ConnectError.from(thrown).code !== Code.InvalidArgument || MOVED_ON.test(answer.reason)) return answer;
  return { kind: "retry", code: answer.code, reason: answer.reason, bounded: true };
}
