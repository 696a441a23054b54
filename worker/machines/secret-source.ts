import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { BmcError } from "../../shared/contract/bmc-error.ts";
import { checkFile, decodeText, FileProblem, fileProblemOf } from "../../shared/read-text-file.ts";
import { TimeoutReached, withTimeout } from "../../shared/timeout.ts";
import { LONGEST_SECRET_BYTES, readSecretText } from "../document/secret-text.ts";
import type { Environment, SecretCommand } from "./run-secret-command.ts";
import type { SecretCommands } from "./secret-commands.ts";
import { readFolder } from "./secret-directory.ts";

/** The source of secrets: its key in the inventory and the value of the key. Paths are absolute. */
export type SecretSource =
  | { readonly key: string; readonly file: string }
  | { readonly key: string; readonly variable: string }
  | { readonly key: string; readonly directory: string }
  | { readonly key: string; readonly command: SecretCommand };

export type SingleSource = Extract<SecretSource, { file: string } | { variable: string }>;

export interface SecretReading {
  readonly env: Environment;
  readonly commands: SecretCommands;
  readonly signal: AbortSignal;
}

/** Room for a certificate bundle with several hundred authorities. */
const LARGEST_BUNDLE_BYTES = 1_024 * 1_024;
/** A hanging network file system must not block a lane for longer. */
const READ_TIMEOUT_MS = 10_000;

/** Reads a secret. Throws a `BmcError` of class `usage` that names the source, but quotes no part of it. */
export async function readSecret(source: SingleSource, { env, signal }: SecretReading): Promise<string> {
  const { key } = source;
  if ("file" in source) {
    return inTime(key, source.file, signal, (bounded) => readSecretFile(source.file, bounded));
  }
  const { variable } = source;
  const text = env[variable];
  if (text === undefined) throw new BmcError("usage", `${key} ${variable} is not set`);
  return inTime(key, variable, signal, async () => readSecretText(text));
}

/** Reads a file that is not secret. Throws like `readSecret`. */
export async function readBundle(key: string, file: string, signal: AbortSignal): Promise<string> {
  return inTime(key, file, signal, (bounded) => readSmallFile(file, LARGEST_BUNDLE_BYTES, bounded));
}

/** Reads files of a directory, all of the same version. Missing optional files are left out. Throws like `readSecret`. */
export async function readDirectory(
  key: string,
  directory: string,
  names: { readonly required: readonly string[]; readonly optional: readonly string[] },
  signal: AbortSignal,
): Promise<Readonly<Record<string, string>>> {
  return inTime(key, directory, signal, (bounded) =>
    readFolder(directory, async (folder) => {
      const found: Record<string, string> = {};
      for (const name of [...names.required, ...names.optional]) {
        const secret = await readPart(folder, name, bounded, names.optional.includes(name));
        if (secret !== undefined) found[name] = secret;
      }
      return found;
    }),
  );
}

/** Reads every visible file of a directory, in order of name. Throws like `readSecret`. */
export async function readWholeDirectory(
  key: string,
  directory: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  return inTime(key, directory, signal, (bounded) =>
    readFolder(directory, async (folder, names) => {
      const secrets: string[] = [];
      for (const name of names) secrets.push((await readPart(folder, name, bounded)) ?? "");
      if (secrets.length === 0) throw new FileProblem("holds no files");
      return secrets;
    }),
  );
}

/** Reads a file of a directory; undefined for an optional one that does not exist. */
async function readPart(
  folder: string,
  name: string,
  signal: AbortSignal,
  isOptional = false,
): Promise<string | undefined> {
  try {
    return await readSecretFile(`${folder}/${name}`, signal);
  } catch (thrown) {
    signal.throwIfAborted();
    const isMissing = thrown instanceof Error && "code" in thrown && thrown.code === "ENOENT";
    if (isOptional && isMissing) return undefined;
    throw new FileProblem(`cannot be used: its file ${name} ${fileProblemOf(thrown)}`);
  }
}

async function inTime<T>(
  key: string,
  name: string,
  signal: AbortSignal,
  read: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  try {
    return await withTimeout(READ_TIMEOUT_MS, signal, read);
  } catch (thrown) {
    signal.throwIfAborted();
    const problem = thrown instanceof TimeoutReached ? "could not be read in time" : fileProblemOf(thrown);
    throw new BmcError("usage", `${key} ${name} ${problem}`);
  }
}

async function readSecretFile(path: string, signal: AbortSignal): Promise<string> {
  return readSecretText(await readSmallFile(path, LONGEST_SECRET_BYTES + 2, signal));
}

/** Reads a small regular file. Reading a pipe would block until the timeout. */
async function readSmallFile(path: string, largestBytes: number, signal: AbortSignal): Promise<string> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    checkFile(await file.stat(), largestBytes);
    return decodeText(await file.readFile({ signal }));
  } finally {
    await file.close();
  }
}
