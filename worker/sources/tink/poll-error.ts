import { ConnectError } from "@connectrpc/connect";
import type { Poll } from "../../core/ports/source.ts";
import { failedPollOfError } from "../grpc/grpc-errors.ts";
import { PreconditionFailureSchema } from "./gen/precondition_failure_pb.ts";
import { PreconditionFailureViolation, PreconditionFailureViolationSchema } from "./gen/workflow_pb.ts";

/** The deadline exceeds the time for which the server holds a call: when it passes, there was nothing to do. */
const IDLE_CODES: ReadonlySet<string> = new Set(["NotFound", "FailedPrecondition", "DeadlineExceeded"]);

/** Converts anything `GetAction` threw to a poll. */
export function pollOfError(thrown: unknown): Exclude<Poll, { kind: "action" }> {
  const failed = failedPollOfError(thrown);
  const isIdle = IDLE_CODES.has(failed.code) || saysNoActionAvailable(ConnectError.from(thrown));
  return isIdle ? { kind: "idle", reason: failed.reason } : failed;
}

function saysNoActionAvailable(error: ConnectError): boolean {
  const type = PreconditionFailureViolationSchema.value[PreconditionFailureViolation.NO_ACTION_AVAILABLE];
  return error
    .findDetails(PreconditionFailureSchema)
    .some((failure) => failure.violations.some((violation) => violation.type === type?.name));
}
