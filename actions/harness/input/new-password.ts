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
  /** Set for a generated one: whether an earlier run that was cut off may have set it already. */
  readonly mayBeSet?: boolean;
}

/**
 * Calls `use` with the user's new password, if there is to be one. A generated one is on disk, beside its final
 * place as `<file>.new`, before the BMC hears of it, and takes its place when `use` resolved: whenever the
 * process dies, the password in force is in one of the two. What an earlier run left in `.new` is used again,
 * because the BMC may have taken it, and is never removed.
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

/** What a dry run needs of the new password: one of the same shape, and that its file can be written. */
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

/** An action that is cut short, or is wrong itself, does not know how far it got. */
const IN_DOUBT = ["cancelled", "internal", "timeout"];

/** A password that was refused is no use; one that may be in force must be found. */
async function tidied(error: BmcError, { mayBeSet }: NewPassword, candidate: string): Promise<BmcError> {
  if (!mayBeSet && !error.uncertain && !IN_DOUBT.includes(error.class)) {
    await removeCandidate(candidate).catch(() => undefined);
    return error;
  }
  const message = `${error.message}; the password that the BMC may have stored is in ${candidate}`;
  return new BmcError(error.class, message, { cause: error, uncertain: error.uncertain });
}

// IPMI 1.5 keeps 16 bytes of a password (IPMI 2.0 section 22.30), and some BMCs still do.
const LENGTH = 16;
/** No characters that look alike; only special characters that BMC web pages and shells accept. */
const KINDS = ["abcdefghijkmnopqrstuvwxyz", "ABCDEFGHJKLMNPQRSTUVWXYZ", "23456789", "-_.+"] as const;

/** A random password with a character of each kind, which is what BMCs' rules ask for. */
export function generatePassword(): Secret {
  const all = KINDS.join("");
  const characters = Array.from({ length: LENGTH }, (_, index) => pick(KINDS[index] ?? all));
  // The first ones are of known kinds, so all change places (Fisher and Yates).
  for (let last = LENGTH - 1; last > 0; last -= 1) {
    const other = randomInt(last + 1);
    [characters[last], characters[other]] = [characters[other] ?? "", characters[last] ?? ""];
  }
  return new Secret(characters.join(""));
}

function pick(characters: string): string {
  return characters.charAt(randomInt(characters.length));
}
