/**
 * Whether `text` as a whole is what `pattern` says: `**` stands for anything, `*` for anything without a
 * slash, every other character for itself.
 */
export function matchesWildcard(pattern: string, text: string): boolean {
  const source = pattern
    .split(/(\*+)/)
    .map((part) => {
      if (part === "*") return "[^/]*";
      return part.startsWith("*") ? ".*" : part.replace(/[.+?^${}()|[\]\\/-]/g, "\\$&");
    })
    .join("");
  return new RegExp(`^${source}$`, "s").test(text);
}

/** The same for names, which have no segments: every `*` stands for anything. */
export function matchesName(pattern: string, name: string): boolean {
  return matchesWildcard(pattern.replace(/\*+/g, "**"), name);
}
