import {
  boolean,
  choice,
  type InputOf,
  type NameInput,
  outputFile,
  secret,
  secretFile,
  text,
} from "./input.ts";

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

/** A user's new password: given, in a file, or made by the action. */
export const passwordInput = {
  password: secret({ env: "PASSWORD", description: "The user's password" }),
  passwordFile: secretFile({ env: "PASSWORD_FILE", description: "A file that contains the user's password" }),
  passwordGenerate: boolean({
    env: "PASSWORD_GENERATE",
    description: "Generate a random password and write it only to PASSWORD_GENERATE_FILE",
    default: "false",
  }),
  passwordGenerateFile: outputFile({
    env: "PASSWORD_GENERATE_FILE",
    description: "Where to write the generated password, readable only by its owner",
  }),
};

export type PasswordInput = InputOf<typeof passwordInput>;

/** `input` without a password is a problem if one is `required`. */
export function checkPassword(
  input: PasswordInput,
  nameInput: NameInput,
  { required }: { readonly required: boolean },
): string[] {
  const { password, passwordFile, passwordGenerate, passwordGenerateFile } = input;
  const ways = [password, passwordFile, passwordGenerate || undefined].filter((way) => way !== undefined);
  const generate = nameInput("PASSWORD_GENERATE", "true");
  const file = nameInput("PASSWORD_GENERATE_FILE");
  const all = `PASSWORD, ${nameInput("PASSWORD_FILE")}, ${generate}`;
  const problems: string[] = [];
  if (ways.length > 1) problems.push(`more than one of ${all} is set: set only one`);
  if (ways.length === 0 && required) problems.push(`the user's password is missing: set one of ${all}`);
  if (passwordGenerate && passwordGenerateFile === undefined) {
    problems.push(`${file} is missing: the file for the generated password`);
  }
  if (!passwordGenerate && passwordGenerateFile !== undefined) {
    problems.push(`${file} has no effect without ${generate}`);
  }
  return problems;
}
