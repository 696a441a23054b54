/**
 * Whether `text` as a whole is what `pattern` says: `**` stands for anything, `*` for anything without a
 * slash, every other character for itself. Takes time in proportion to the lengths of both, whatever they hold.
 */
export function matchesWildcard(pattern: string, text: string): boolean {
  // The usual patterns, at once: every action is matched several times.
  if (!pattern.includes("*")) return pattern === text;
  if (pattern === "**") return true;
  const parts = pattern.match(/\*+|[^*]/gs) ?? [];
  // At each index: whether so many parts match what was read of the text.
  let reached = withEmptyWildcards([true], parts);
  for (let at = 0; at < text.length && reached.includes(true); at += 1) {
    const character = text.charAt(at);
    const next: boolean[] = [];
    for (const [index, part] of parts.entries()) {
      if (!reached[index]) continue;
      if (!part.startsWith("*")) next[index + 1] ||= part === character;
      else if (part !== "*" || character !== "/") next[index] = true;
    }
    reached = withEmptyWildcards(next, parts);
  }
  return reached[parts.length] === true;
}

/** A wildcard may stand for nothing. */
function withEmptyWildcards(reached: boolean[], parts: readonly string[]): boolean[] {
  for (const [index, part] of parts.entries()) {
    if (reached[index] && part.startsWith("*")) reached[index + 1] = true;
  }
  return reached;
}

/** The same for names, which have no segments: every `*` stands for anything. */
export function matchesName(pattern: string, name: string): boolean {
  return matchesWildcard(pattern.replace(/\*+/g, "**"), name);
}
