import { randomInt } from "node:crypto";
import { BmcError } from "../../../shared/contract/bmc-error.ts";
import type { Logger } from "../../../shared/logger.ts";
import { Secret } from "../../../shared/secret.ts";
import type { NameInput } from "./input.ts";
import {
  adoptCandidate,
  candidateOf,
  checkPlace,
  readCandidate,
  removeCandidate,
  writeCandidate,
} from "./password-file.ts";
import type { PasswordInput } from "./user-input.ts";

export interface PasswordContext {
  readonly input: PasswordInput;
  readonly log: Logger;
  readonly nameInput: NameInput;
}

export interface NewPassword {
  readonly password?: Secret;
  /** Whether an earlier run that was interrupted may have set this generated password already. */
  readonly mayBeSet?: boolean;
}

/**
 * Calls `use` with the user's new password, if there is to be one. A generated password is written to `<file>.new` before it
 * is sent to the BMC, and the file is renamed to its final name when `use` has resolved. If the process dies at any time,
 * the valid password is in one of the two files. A password that an earlier run left in `.new` is used again, because the
 * BMC may have accepted it, and is never removed.
 */
export async function withNewPassword<T>(
  { input, log, nameInput }: PasswordContext,
  use: (given: NewPassword) => Promise<T>,
): Promise<T> {
  const file = input.passwordGenerate ? input.passwordGenerateFile : undefined;
  if (file === undefined) return use(givenPassword(input));
  const candidate = await prepare(file, nameInput);
  log.info({ file: candidateOf(file) }, "new password saved to a file until the BMC accepts it");
  let result: T;
  try {
    result = await use(candidate);
  } catch (thrown) {
    throw await tidied(BmcError.from(thrown), candidate, candidateOf(file));
  }
  try {
    await adoptCandidate(file);
  } catch (thrown) {
    const where = `the password was set and is in ${candidateOf(file)}, which could not be renamed to ${file}`;
    throw new BmcError("internal", `${where}: ${(thrown as Error).message}`, { cause: thrown });
  }
  return result;
}

/** Returns a placeholder for the new password in a dry run. Checks that its file can be written. */
export async function passwordToPlan({
  input,
  nameInput,
}: Omit<PasswordContext, "log">): Promise<NewPassword> {
  const file = input.passwordGenerate ? input.passwordGenerateFile : undefined;
  if (file === undefined) return givenPassword(input);
  return onDisk(nameInput, async () => {
    await checkPlace(file);
    return { password: (await readCandidate(candidateOf(file))) ?? generatePassword() };
  });
}

function givenPassword({ password, passwordFile }: PasswordInput): NewPassword {
  const given = password ?? passwordFile;
  return given ? { password: given } : {};
}

function prepare(file: string, nameInput: NameInput): Promise<NewPassword> {
  return onDisk(nameInput, async () => {
    await checkPlace(file);
    const candidate = candidateOf(file);
    const left = await readCandidate(candidate);
    if (left) return { password: left, mayBeSet: true };
    const password = generatePassword();
    await writeCandidate(candidate, password);
    return { password, mayBeSet: false };
  });
}

async function onDisk<T>(nameInput: NameInput, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    throw new BmcError("usage", `${nameInput("PASSWORD_GENERATE_FILE")}: ${(thrown as Error).message}`, {
      cause: thrown,
    });
  }
}

/** The classes of errors after which it is unknown how far the action got. */
const IN_DOUBT = ["cancelled", "internal", "timeout"];

/** Removes a password that was refused, which is useless. A password that may be in force is kept. */
async function tidied(error: BmcError, { mayBeSet }: NewPassword, candidate: string): Promise<BmcError> {
  if (!mayBeSet && !error.uncertain && !IN_DOUBT.includes(error.class)) {
    await removeCandidate(candidate).catch(() => undefined);
    return error;
  }
  const message = `${error.message}; the password that the BMC may have stored is in ${candidate}`;
  return new BmcError(error.class, message, { cause: error, uncertain: error.uncertain });
}

// IPMI 1.5 keeps 16 bytes of a password (IPMI 2.0 section 22.30), and so do some newer BMCs.
const LENGTH = 16;
/**
 * The kinds of characters, without characters that look alike and with only the special characters that BMC web pages and
 * shells accept.
 */
const KINDS = ["abcdefghijkmnopqrstuvwxyz", "ABCDEFGHJKLMNPQRSTUVWXYZ", "23456789", "-_.+"] as const;

/** Generates a random password with a character of each kind, because the rules of many BMCs require this. */
export function generatePassword(): Secret {
  const all = KINDS.join("");
  const characters = Array.from({ length: LENGTH }, (_, index) => pick(KINDS[index] ?? all));
  // Shuffled (Fisher and Yates), because the first characters are of known kinds.
  for (let last = LENGTH - 1; last > 0; last -= 1) {
    const other = randomInt(last + 1);
    [characters[last], characters[other]] = [characters[other] ?? "", characters[last] ?? ""];
  }
  return new Secret(characters.join(""));
}

function pick(characters: string): string {
  return characters.charAt(randomInt(characters.length));
}
