import type { Secret } from "../secret.ts";

interface Login {
  readonly username?: string | undefined;
  readonly password?: Secret | undefined;
}

/** A secret or user name without the line end that editors, `echo` and Windows add. */
export function withoutLineEnd(text: string): string {
  return text.replace(/(?:\r?\n|\r)$/, "");
}

/** What is odd about a login, without any of it: accounts lock after a few wrong ones. Undefined if nothing is. */
export function loginDoubt({ username, password }: Login): string | undefined {
  const ofUser = username === undefined ? undefined : secretDoubt(username);
  const ofPassword = password === undefined ? undefined : secretDoubt(password.reveal());
  if (ofUser !== undefined) return `the user name ${ofUser}`;
  return ofPassword === undefined ? undefined : `the password ${ofPassword}`;
}

/** What is odd about a user name or secret, to follow its name; contains nothing of it. */
export function secretDoubt(text: string): string | undefined {
  // `docker run --env-file` and Kubernetes Secrets keep what a shell would remove.
  if (/^(["'`]).*\1$/s.test(text) && text.length > 1)
    return "has quotes around it, which count as part of it";
  if (/[\r\n]/.test(text)) return "has a line end in it, which counts as part of it";
  return text === text.trim() ? undefined : "has a space before or after it, which counts as part of it";
}
