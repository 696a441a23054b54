/**
 * What differs in two results but names: the same text, or number without unit, is as it was or has one stand-in everywhere, and no two
 * have the same. Undefined if nothing does.
 */
export function differenceButNames(original: unknown, renamed: unknown): string | undefined {
  const names = new Map<string, string>();
  const origins = new Map<string, string>();
  const compareTexts = (one: string, other: string, path: string) => {
    if (one === other) return undefined;
    const [name, origin] = [names.get(one) ?? other, origins.get(other) ?? one];
    if (name !== other || origin !== one) return `${path}: ${one} is ${name} and ${other}`;
    names.set(one, other);
    origins.set(other, one);
    return undefined;
  };
  const compare = (one: unknown, other: unknown, path: string): string | undefined => {
    if (typeof one === "string" && typeof other === "string") return compareTexts(one, other, path);
    if (typeof one === "number" && typeof other === "number" && Math.abs(one) >= 1_000) {
      return compareTexts(String(one), String(other), path);
    }
    if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) {
      return Object.is(one, other) ? undefined : `${path}: ${String(one)} and ${String(other)}`;
    }
    const [own, others] = [Object.entries(one), Object.entries(other)];
    if (own.length !== others.length) return `${path}: ${own.length} and ${others.length} entries`;
    for (const [index, [name, value]] of own.entries()) {
      const [otherName = "", otherValue] = others[index] ?? [];
      const differs = compareTexts(name, otherName, path) ?? compare(value, otherValue, `${path}.${name}`);
      if (differs !== undefined) return differs;
    }
    return undefined;
  };
  return compare(original, renamed, "result");
}
