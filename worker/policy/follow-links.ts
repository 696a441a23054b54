import { lstat, realpath } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

export type FollowedLinks = { readonly path: string } | { readonly problem: string };

/** An absolute path with every link in its existing part followed. */
export async function followLinks(path: string): Promise<FollowedLinks> {
  try {
    return { path: await realpath(path) };
  } catch (thrown) {
    const code = codeOf(thrown);
    if (code !== "ENOENT") return { problem: `its links cannot be followed (${code})` };
  }
  // Writing through a dangling link creates the file at its target.
  if (await isThere(path)) return { problem: "it is a link that leads nowhere" };
  const folder = await followLinks(dirname(path));
  return "problem" in folder ? folder : { path: join(folder.path, basename(path)) };
}

async function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

function codeOf(thrown: unknown): string {
  return thrown instanceof Error && "code" in thrown ? String(thrown.code) : String(thrown);
}
