import { chmod, lstat, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { replaceFile } from "../../../actions/harness/input/replace-file.ts";
import { makeFolder } from "../../../shared/make-folder.ts";
import type { SecretFile } from "./imported-machine.ts";

const OWNER_ONLY = 0o700;

/** The files of these secrets that exist. */
export async function existingSecrets(
  folder: string,
  secrets: readonly SecretFile[],
): Promise<readonly string[]> {
  const existing: string[] = [];
  for (const { machine, file } of secrets) {
    const path = join(folder, machine, file);
    if (await lstat(path).catch(() => undefined)) existing.push(path);
  }
  return existing;
}

/** Writes each secret into the folder of its machine, which only the owner can read. Rejects with one line. */
export async function writeSecrets(folder: string, secrets: readonly SecretFile[]): Promise<void> {
  await makeFolder(folder, OWNER_ONLY);
  for (const { machine, file, secret } of secrets) {
    const own = join(folder, machine);
    await mkdir(own, { mode: OWNER_ONLY }).catch(() => undefined);
    // A link would lead to a folder that others may read.
    if (!(await lstat(own)).isDirectory()) throw new Error(`${own} is not a folder`);
    await chmod(own, OWNER_ONLY);
    const path = join(own, file);
    const problem = await replaceFile(path, `${secret.reveal()}\n`);
    if (problem !== undefined) throw new Error(`cannot write ${path}: ${problem}`);
  }
}
