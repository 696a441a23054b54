import { redactor } from "../../secret-forms.ts";

/** `text` without the secrets of `body`: BMCs quote the value they refuse, and that may be a password. */
export function redact(text: string, body: unknown): string {
  return redactor({ body })(text);
}
