import { Code } from "@connectrpc/connect";
import type { ErrorClass } from "../../../../shared/contract/error-class.ts";

/** The gRPC code of a task whose action failed. Default: UNKNOWN, which PBnJ returns for most failures. */
export function codeOf(errorClass: ErrorClass | undefined): Code {
  switch (errorClass) {
    case "usage":
      return Code.InvalidArgument;
    // PBnJ's code for a BMC that refuses the login.
    case "auth":
      return Code.PermissionDenied;
    case "tls":
    case "state":
      return Code.FailedPrecondition;
    case "unsupported":
      return Code.Unimplemented;
    case "timeout":
      return Code.DeadlineExceeded;
    case "cancelled":
      return Code.Canceled;
    // Not UNAVAILABLE, which clients and proxies retry: they would request the ended task forever.
    case "unreachable":
    case "busy":
    case "verify":
    case "protocol":
    case "bmc":
    case "internal":
    case undefined:
      return Code.Unknown;
    default:
      return errorClass satisfies never;
  }
}
