import { realpath, stat } from "node:fs/promises";
import { dirname } from "node:path";

/** Returns the files that every user of the host can read: the file is readable, and every parent folder can be entered. */
export async function filesOpenToAll(paths: readonly string[]): Promise<readonly string[]> {
  const open: string[] = [];
  for (const path of paths) if (await isOpenToAll(path)) open.push(path);
  return open;
}

const READ_BY_OTHERS = 0o004;
const PASSED_BY_OTHERS = 0o001;

async function isOpenToAll(path: string): Promise<boolean> {
  try {
    const real = await realpath(path);
    if (((await stat(real)).mode & READ_BY_OTHERS) === 0) return false;
    for (let folder = dirname(real); ; folder = dirname(folder)) {
      if (((await stat(folder)).mode & PASSED_BY_OTHERS) === 0) return false;
      if (folder === dirname(folder)) return true;
    }
  } catch {
    // Others cannot read a file that is missing or that this user cannot stat.
    return false;
  }
}
