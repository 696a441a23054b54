/** Bits of a mode: other users can write. */
const OTHERS_WRITE = 0o022;

/** A cache that this user wrote, in a folder in which no other user can replace it: its content is executed. */
export function readOwnCache(file: string): Buffer | undefined {
  const { closeSync, fstatSync, openSync, readFileSync, statSync } = process.getBuiltinModule("node:fs");
  const { dirname } = process.getBuiltinModule("node:path");
  try {
    if (!isSafe(statSync(dirname(file)))) return undefined;
    const descriptor = openSync(file, "r");
    try {
      return isSafe(fstatSync(descriptor)) ? readFileSync(descriptor) : undefined;
    } finally {
      closeSync(descriptor);
    }
  } catch {
    return undefined;
  }
}

/** Replaces the cache at once, as other processes may read it. Does nothing where that is not possible. */
export function writeOwnCache(file: string, data: Buffer): void {
  const { mkdirSync, renameSync, rmSync, writeFileSync } = process.getBuiltinModule("node:fs");
  const { dirname } = process.getBuiltinModule("node:path");
  const unfinished = `${file}.${process.pid}`;
  // Two levels of a home directory that exists; `recursive` may never end.
  for (const folder of [dirname(dirname(file)), dirname(file)])
    attempt(() => mkdirSync(folder, { mode: 0o700 }));
  const isWritten = attempt(() => {
    writeFileSync(unfinished, data, { mode: 0o600, flag: "wx" });
    renameSync(unfinished, file);
  });
  if (!isWritten) attempt(() => rmSync(unfinished, { force: true }));
}

/** Whether it succeeded. */
function attempt(work: () => void): boolean {
  try {
    work();
    return true;
  } catch {
    return false;
  }
}

function isSafe({ uid, mode }: { readonly uid: number; readonly mode: number }): boolean {
  const user = process.getuid?.();
  // On Windows, the folder is the user's own.
  return user === undefined || ((uid === user || uid === 0) && (mode & OTHERS_WRITE) === 0);
}
