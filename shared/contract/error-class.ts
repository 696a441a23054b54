import * as z from "zod/mini";

/** Why an action failed. The class answers "retry?" and "exit code?" everywhere in this project. */
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

/**
 * What an error of class `auth` was about: the login, which BMCs use to lock accounts, or a missing right.
 */
export const AuthRefusal = z.enum(["login", "right"]);
export type AuthRefusal = z.infer<typeof AuthRefusal>;
