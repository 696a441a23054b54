import { redactor, secretsIn } from "../../../../secret-forms.ts";

/** `text` without the secrets of `body`, however short: BMCs quote the value they refuse, and that may be a password. */
export function redact(text: string, body: unknown): string {
  const secrets = secretsIn(body).filter((secret) => secret !== "");
  return secrets.reduce((kept, secret) => kept.replaceAll(secret, "[redacted]"), redactor({ body })(text));
}
