import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { BmcError } from "../../shared/bmc/errors.ts";
import { checkFile, decodeText, fileProblemOf } from "../document/read-text-file.ts";
import { LONGEST_SECRET_BYTES, readSecretText } from "./secret-text.ts";

/** Where one secret is: the key that says so in the inventory, and the file or variable it names. */
export interface SecretSource {
  readonly key: string;
  readonly file?: string;
  readonly variable?: string;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** With room for a line end, a certificate bundle of some hundred authorities. */
export const LARGEST_BUNDLE_BYTES = 1_024 * 1_024;

/** Reads a secret now. Throws a `BmcError` of class `usage` that names where it is, and nothing of it. */
export async function readSecret(
  { key, file, variable }: SecretSource,
  env: Environment,
  signal: AbortSignal,
): Promise<string> {
  if (file !== undefined) {
    return usage(key, file, async () =>
      readSecretText(await readSmallFile(file, LONGEST_SECRET_BYTES + 2, signal)),
    );
  }
  const text = variable === undefined ? undefined : env[variable];
  if (text === undefined) throw new BmcError("usage", `${key} ${variable} is not set`);
  return usage(key, variable ?? key, async () => readSecretText(text));
}

/** Reads a file that is no secret, under the same terms. */
export async function readBundle(key: string, file: string, signal: AbortSignal): Promise<string> {
  return usage(key, file, () => readSmallFile(file, LARGEST_BUNDLE_BYTES, signal));
}

async function usage(key: string, name: string, read: () => Promise<string>): Promise<string> {
  try {
    return await read();
  } catch (thrown) {
    throw new BmcError("usage", `${key} ${name} ${fileProblemOf(thrown)}`);
  }
}

/** Only regular files: a pipe in a secret's place would hold the action until its time is over. */
async function readSmallFile(path: string, largestBytes: number, signal: AbortSignal): Promise<string> {
  await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  checkFile(await file.stat(), largestBytes);
  return decodeText(await file.readFile({ signal }));
}
