import { Code, ConnectError } from "@connectrpc/connect";
import { oneLine } from "../../../shared/contract/result.ts";
import { TimeoutReached } from "../../../shared/timeout.ts";
import type { Acknowledgement, Poll } from "../../core/ports/source.ts";
import { saysGone } from "./gone.ts";

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

/** One line. A host with several addresses fails with one error per address and an empty message. */
function reasonOf(error: ConnectError): string {
  const cause = error.cause;
  const inner =
    cause instanceof AggregateError ? cause.errors.map((each) => String(each?.message ?? each)) : [];
  return oneLine(plain(error.rawMessage) || inner.join("; ") || codeName(error.code));
}

/** Removes source positions from OpenSSL's messages, and advice that this worker follows anyway from Node's. */
function plain(message: string): string {
  const [, openSsl] = /^[\dA-F]+:error:[\dA-F]+:[^:]*:[^:]*:([^:]+)/i.exec(message) ?? [];
  if (openSsl === "wrong version number") return "the server does not use TLS";
  if (openSsl !== undefined) return `TLS: ${openSsl}`;
  return message.replace(
    /; if the root CA is installed locally, try running Node\.js with --use-system-ca$/,
    "",
  );
}
