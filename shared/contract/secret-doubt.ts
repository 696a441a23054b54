import type { Secret } from "../secret.ts";

interface Login {
  readonly username?: string | undefined;
  readonly password?: Secret | undefined;
}

/** A secret or user name without the line end that editors, `echo` and Windows add. */
export function withoutLineEnd(text: string): string {
  return text.replace(/(?:\r?\n|\r)$/, "");
}

/**
 * Describes what looks wrong in a login, without quoting it, because accounts lock after a few wrong logins. Undefined if
 * nothing looks wrong.
 */
export function loginDoubt({ username, password }: Login): string | undefined {
  const ofUser = username === undefined ? undefined : secretDoubt(username);
  const ofPassword = password === undefined ? undefined : secretDoubt(password.reveal());
  if (ofUser !== undefined) return `the user name ${ofUser}`;
  return ofPassword === undefined ? undefined : `the password ${ofPassword}`;
}

/** Describes what looks wrong in a user name or secret, without quoting it; the text follows the field's name. */
export function secretDoubt(text: string): string | undefined {
  // `docker run --env-file` and Kubernetes Secrets keep quotes that a shell would remove.
  if (/^(["'`]).*\1$/s.test(text) && text.length > 1)
    return "has quotes around it, which count as part of it";
  if (/[\r\n]/.test(text)) return "has a line end in it, which counts as part of it";
  return text === text.trim() ? undefined : "has a space before or after it, which counts as part of it";
}
