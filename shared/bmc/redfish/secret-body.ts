import { Secret } from "../../secret.ts";

/** A request body as JSON with its secrets open: for the wire and nowhere else. */
export function revealBody(body: unknown): string {
  return JSON.stringify(body, function (this: Record<string, unknown>, key, value) {
    // JSON.stringify has already called toJSON, so the secret itself is read from its holder.
    const original = this[key];
    return original instanceof Secret ? original.reveal() : value;
  });
}

/** `text` without the secrets of `body`: BMCs quote the value they refuse, and that may be a password. */
export function redact(text: string, body: unknown): string {
  return secretsIn(body).reduce((kept, secret) => kept.replaceAll(secret, "[redacted]"), text);
}

function secretsIn(body: unknown): string[] {
  if (body instanceof Secret) return body.reveal() === "" ? [] : [body.reveal()];
  if (typeof body !== "object" || body === null) return [];
  return Object.values(body).flatMap(secretsIn);
}
