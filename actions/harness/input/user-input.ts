import { choice, text } from "./input.ts";

export const userName = text({
  env: "USER_NAME",
  description: "The BMC user",
  // IPMI keeps 16 bytes (IPMI 2.0 section 22.28); Redfish names no limit.
  pattern: /^[\x21-\x7e]{1,64}$/,
  expected: "is not a user name: up to 64 printable characters without blanks",
  required: true,
});

export const USER_ROLES = ["administrator", "operator", "readonly"] as const;

export const userRole = <const O extends { readonly required?: true }>(options: O) =>
  choice(USER_ROLES, { env: "ROLE", description: "The user's role", ...options });
