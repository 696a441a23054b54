import { Code, ConnectError } from "@connectrpc/connect";
import { Secret } from "../../../../shared/secret.ts";
import type { DirectAccess } from "../../../core/action/action.ts";
import type { Authn } from "../api/gen/common_pb.ts";

/** The target of a request: a machine of the inventory, or a BMC whose credentials are in the request. */
export type Subject = { readonly machine: string } | { readonly bmc: DirectAccess };

const LONGEST = 1_024;

/** Throws UNAUTHENTICATED, with PBnJ's message, or INVALID_ARGUMENT. */
export function readAuthn(given: Authn | undefined): Subject {
  const authn = given?.authn;
  switch (authn?.case) {
    case "externalAuthn":
      return { machine: required("authn.externalAuthn.host.host", authn.value.host?.host) };
    case "directAuthn": {
      const { host, username, password } = authn.value;
      return {
        bmc: {
          host: required("authn.directAuthn.host.host", host?.host),
          username: required("authn.directAuthn.username", username),
          password: new Secret(required("authn.directAuthn.password", password)),
        },
      };
    }
    default:
      throw new ConnectError("no auth found", Code.Unauthenticated);
  }
}

/** For logs and limits: the machine's name, or the BMC's address. */
export function subjectName(subject: Subject): string {
  return "machine" in subject ? subject.machine : subject.bmc.host;
}

export function required(field: string, value: string | undefined): string {
  if (!value?.trim()) throw invalid(`${field} must not be empty`);
  if (value.length > LONGEST) throw invalid(`${field} is longer than ${LONGEST} characters`);
  return value;
}

export function invalid(message: string): ConnectError {
  return new ConnectError(message, Code.InvalidArgument);
}
