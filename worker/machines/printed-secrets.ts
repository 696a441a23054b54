import { z } from "zod";
import { defined } from "../../shared/defined.ts";
import { FileProblem } from "../../shared/read-text-file.ts";
import { readSecretText } from "../document/secret-text.ts";

const PrintedSecrets = z.strictObject({
  username: z.string().optional(),
  password: z.string().optional(),
  kg: z.string().optional(),
  /** The secrets of a webhook, which signs with all of them. */
  secrets: z.array(z.string()).min(1).max(16).optional(),
});
export type PrintedSecrets = z.infer<typeof PrintedSecrets>;

/**
 * Parses a command's output. Throws a `FileProblem` whose message follows the command's name and contains no part of the
 * output.
 */
export function parsePrinted(text: string): PrintedSecrets {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new FileProblem(text.trim() === "" ? "printed nothing" : "printed what is not JSON");
  }
  const parsed = PrintedSecrets.safeParse(value);
  if (!parsed.success) throw new FileProblem(shapeProblem(parsed.error.issues[0]));
  const { username, password, kg, secrets } = parsed.data;
  return defined({
    username: checked("user name", username),
    password: checked("password", password),
    kg: checked("Kg", kg),
    secrets: secrets?.flatMap((secret) => checked("secret", secret) ?? []),
  });
}

/** Describes an invalid output. An unknown key is not named, because it may be a secret. */
function shapeProblem(issue: z.core.$ZodIssue | undefined): string {
  const [key] = issue?.path ?? [];
  if (key !== undefined)
    return `printed JSON whose ${String(key)} is not ${key === "secrets" ? "a list of " : ""}text`;
  return issue?.code === "unrecognized_keys"
    ? "printed JSON with keys other than username, password, kg and secrets"
    : "printed JSON that is not an object";
}

function checked(what: string, text: string | undefined): string | undefined {
  try {
    return text === undefined ? undefined : readSecretText(text);
  } catch (thrown) {
    if (thrown instanceof FileProblem) throw new FileProblem(`printed a ${what} that ${thrown.message}`);
    throw thrown;
  }
}
