import { lstat, realpath } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

export type FollowedLinks = { readonly path: string } | { readonly problem: string };

/** An absolute path as the system reaches it: every link in the part of it that exists is followed. */
export async function followLinks(path: string): Promise<FollowedLinks> {
  try {
    return { path: await realpath(path) };
  } catch (thrown) {
    const code = codeOf(thrown);
    if (code !== "ENOENT") return { problem: `its links cannot be followed (${code})` };
  }
  // What is opened for writing through such a link is made where it points.
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
