import { readFileSync } from "node:fs";
import { userInfo } from "node:os";

/** Who runs this command: the name, or the number where a container's user has none. */
export function currentUser(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.geteuid?.() ?? "unknown");
  }
}

/** The name of a group of this host, as group(5) has it; undefined where it has none. */
export function groupName(gid: number, read: () => string = readGroups): string | undefined {
  try {
    const line = read()
      .split("\n")
      .map((text) => text.split(":"))
      .find(([, , id]) => id === String(gid));
    return line?.[0] || undefined;
  } catch {
    return undefined;
  }
}

function readGroups(): string {
  return readFileSync("/etc/group", "utf8");
}
