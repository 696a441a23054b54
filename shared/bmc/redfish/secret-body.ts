import { Secret } from "../../secret.ts";

/** `text` without the secrets of `body`: BMCs quote the value they refuse, and that may be a password. */
export function redact(text: string, body: unknown): string {
  return secretsIn(body).reduce((kept, secret) => kept.replaceAll(secret, "[redacted]"), text);
}

function secretsIn(body: unknown): string[] {
  if (body instanceof Secret) return body.reveal() === "" ? [] : [body.reveal()];
  if (typeof body !== "object" || body === null) return [];
  return Object.values(body).flatMap(secretsIn);
}
