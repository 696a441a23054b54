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
