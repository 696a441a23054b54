import { Code, ConnectError } from "@connectrpc/connect";
import { ownClockNote } from "../../../shared/certificate-clock.ts";
import { oneLine } from "../../../shared/contract/result.ts";
import { TimeoutReached } from "../../../shared/timeout.ts";
import type { Acknowledgement, Poll } from "../../core/ports/source.ts";

/** Converts anything a call threw to a failed poll. */
export function failedPollOfError(thrown: unknown): Poll & { readonly kind: "failed" } {
  const error = rpcErrorOf(thrown);
  return { kind: "failed", code: codeName(error.code), reason: reasonOf(error) };
}

/** Converts anything `ReportActionStatus` threw to an acknowledgement. */
export function acknowledgementOfError(thrown: unknown): Exclude<Acknowledgement, { kind: "acknowledged" }> {
  const error = rpcErrorOf(thrown);
  const answer = { code: codeName(error.code), reason: reasonOf(error) };
  if (saysGone(error)) return { kind: "gone", ...answer, perhapsStale: true };
  switch (error.code) {
    case Code.InvalidArgument:
    case Code.NotFound:
    case Code.Unimplemented:
    case Code.PermissionDenied:
    case Code.Unauthenticated:
    case Code.FailedPrecondition:
      return { kind: "rejected", ...answer };
    default:
      return { kind: "retry", ...answer };
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

/** The reason in one line. A host with several addresses fails with one error per address and an empty message. */
function reasonOf(error: ConnectError): string {
  const cause = error.cause;
  const inner =
    cause instanceof AggregateError ? cause.errors.map((each) => String(each?.message ?? each)) : [];
  const text = plain(error.rawMessage) || inner.join("; ") || codeName(error.code);
  return oneLine(text + ownClockNote(error));
}

/** Removes source positions from OpenSSL's messages, and advice from Node's that this worker already follows. */
function plain(message: string): string {
  const [, openSsl] = /^[\dA-F]+:error:[\dA-F]+:[^:]*:[^:]*:([^:]+)/i.exec(message) ?? [];
  if (openSsl === "wrong version number") return "the server does not use TLS";
  if (openSsl !== undefined) return `TLS: ${openSsl}`;
  return message.replace(
    /; if the root CA is installed locally, try running Node\.js with --use-system-ca$/,
    "",
  );
}

/**
 * Whether the server itself says that it has no such workflow, or that the workflow was recreated (tink server,
 * ReportActionStatus). The text counts as well as the code, because a proxy may answer with its own gRPC status.
 */
export function saysGone(thrown: unknown): boolean {
  const { code, isWireError, rawMessage } = ConnectError.from(thrown);
  if (!isWireError) return false;
  if (code === Code.NotFound) return /\b(action|workflow) not found\b/i.test(rawMessage);
  return code === Code.Internal && saysMissingWorkflow(rawMessage);
}

/**
 * Whether the message is about a missing workflow. The server answers Internal both when its store fails and when the
 * workflow is gone. In the latter case, the message ends with the Kubernetes client's text, `Workflow.tinkerbell.org "name"
 * not found`.
 */
function saysMissingWorkflow(message: string): boolean {
  const [, why = ""] = message.split("error getting workflow:");
  return why.trimEnd().endsWith(" not found");
}
