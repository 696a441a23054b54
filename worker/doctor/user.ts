import { readFileSync } from "node:fs";
import { userInfo } from "node:os";

/** The user of this command: its name, or its ID if it has no name, which is common in containers. */
export function currentUser(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.geteuid?.() ?? "unknown");
  }
}

/** The name of a group in group(5); undefined if it has none. */
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
