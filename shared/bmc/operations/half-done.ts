import { BmcError } from "../../contract/bmc-error.ts";

/**
 * The error of a user's change whose password had been set when the rest failed. It is `uncertain`, and never
 * `unsupported`, which would have the next provider begin anew.
 */
export function halfDone(thrown: unknown): BmcError {
  const error = BmcError.from(thrown);
  const errorClass = error.class === "unsupported" ? "bmc" : error.class;
  return new BmcError(errorClass, `${error.message}; the password is set`, { cause: error, uncertain: true });
}
