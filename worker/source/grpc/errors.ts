import { Code, ConnectError } from "@connectrpc/connect";
import { oneLine } from "../../../shared/contract/result.ts";
import { TimeoutReached } from "../../../shared/timeout.ts";
import type { Acknowledgement, Poll } from "../source.ts";
import { PreconditionFailureSchema } from "../tink/gen/precondition_failure_pb.ts";
import { PreconditionFailureViolation, PreconditionFailureViolationSchema } from "../tink/gen/workflow_pb.ts";

/** Anything `GetAction` threw as a poll. Its deadline exceeds the server's hold: when it passes, nothing came. */
export function pollOfError(thrown: unknown): Exclude<Poll, { kind: "action" }> {
  const error = rpcErrorOf(thrown);
  const reason = reasonOf(error);
  if (saysNoActionAvailable(error)) return { kind: "idle", reason };
  switch (error.code) {
    case Code.NotFound:
    case Code.FailedPrecondition:
    case Code.DeadlineExceeded:
      return { kind: "idle", reason };
    default:
      return { kind: "failed", code: codeName(error.code), reason };
  }
}

/** Anything a call threw whose errors never mean that there is nothing to do. */
export function failedPollOfError(thrown: unknown): Poll & { readonly kind: "failed" } {
  const error = rpcErrorOf(thrown);
  return { kind: "failed", code: codeName(error.code), reason: reasonOf(error) };
}

/** Anything `ReportActionStatus` threw as an acknowledgement. */
export function acknowledgementOfError(thrown: unknown): Exclude<Acknowledgement, { kind: "acknowledged" }> {
  const error = rpcErrorOf(thrown);
  const answer = { code: codeName(error.code), reason: reasonOf(error) };
  switch (error.code) {
    case Code.InvalidArgument:
    case Code.NotFound:
    case Code.Unimplemented:
    case Code.PermissionDenied:
    case Code.Unauthenticated:
    case Code.FailedPrecondition:
      return { kind: "rejected", ...answer };
    default:
      return saysMissingWorkflow(error)
        ? { kind: "retry", ...answer, missing: true }
        : { kind: "retry", ...answer };
  }
}

/** A gRPC code as the specification spells it, such as `NotFound`. */
export function codeName(code: Code): string {
  return Code[code] ?? String(code);
}

function rpcErrorOf(thrown: unknown): ConnectError {
  if (thrown instanceof TimeoutReached) {
    return new ConnectError(thrown.message, Code.DeadlineExceeded, undefined, undefined, thrown);
  }
  return ConnectError.from(thrown);
}

/**
 * The server says Internal both when its store fails and when the workflow is gone. The end of the text tells them apart: it
 * is the Kubernetes client's, `Workflow.tinkerbell.org "name" not found`.
 */
function saysMissingWorkflow(error: ConnectError): boolean {
  const [, why = ""] = error.rawMessage.split("error getting workflow:");
  return error.code === Code.Internal && why.trimEnd().endsWith(" not found");
}

function saysNoActionAvailable(error: ConnectError): boolean {
  const type = PreconditionFailureViolationSchema.value[PreconditionFailureViolation.NO_ACTION_AVAILABLE];
  return error
    .findDetails(PreconditionFailureSchema)
    .some((failure) => failure.violations.some((violation) => violation.type === type?.name));
}

/** One line. A host with several addresses fails with one error for each and no text of its own. */
function reasonOf(error: ConnectError): string {
  const cause = error.cause;
  const inner =
    cause instanceof AggregateError ? cause.errors.map((each) => String(each?.message ?? each)) : [];
  return oneLine(plain(error.rawMessage) || inner.join("; ") || codeName(error.code));
}

/** OpenSSL's words without where in its sources they come from, and Node's without what this worker does anyway. */
function plain(message: string): string {
  const [, openSsl] = /^[\dA-F]+:error:[\dA-F]+:[^:]*:[^:]*:([^:]+)/i.exec(message) ?? [];
  if (openSsl === "wrong version number") return "the server does not use TLS";
  if (openSsl !== undefined) return `TLS: ${openSsl}`;
  return message.replace(
    /; if the root CA is installed locally, try running Node\.js with --use-system-ca$/,
    "",
  );
}
