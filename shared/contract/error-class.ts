import * as z from "zod/mini";

/** Why an action failed. The class determines retries and the exit code everywhere in this project. */
export const ErrorClass = z.enum([
  "usage",
  "auth",
  "unreachable",
  "tls",
  "unsupported",
  "busy",
  "verify",
  "timeout",
  "state",
  "protocol",
  "bmc",
  "internal",
  "cancelled",
]);
export type ErrorClass = z.infer<typeof ErrorClass>;

/** What an error of class `auth` concerns: the login, which BMCs use to lock accounts, or a missing permission. */
export const AuthRefusal = z.enum(["login", "right"]);
export type AuthRefusal = z.infer<typeof AuthRefusal>;
