/**
 * Whether the whole `text` matches `pattern`: `**` matches anything, `*` anything without a slash, and every other character
 * itself. The time is proportional to the lengths of both, whatever they contain.
 */
export function matchesWildcard(pattern: string, text: string): boolean {
  // Fast path for common patterns: every action is matched several times.
  if (!pattern.includes("*")) return pattern === text;
  if (pattern === "**") return true;
  const parts = pattern.match(/\*+|[^*]/gs) ?? [];
  // Whether the first `index` parts match the text so far, by index.
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

/** Adds the parts that match nothing, because a wildcard may be empty. */
function withEmptyWildcards(reached: boolean[], parts: readonly string[]): boolean[] {
  for (const [index, part] of parts.entries()) {
    if (reached[index] && part.startsWith("*")) reached[index + 1] = true;
  }
  return reached;
}

/** Matches names, which have no segments, so that every `*` matches anything. */
export function matchesName(pattern: string, name: string): boolean {
  return matchesWildcard(pattern.replace(/\*+/g, "**"), name);
}

export function isAmong(name: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => matchesName(pattern, name));
}
