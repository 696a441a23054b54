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
