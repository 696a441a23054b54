/** A piece of text between quotes, as the source has it; `${}` stands for a value. */
export interface StringLiteral {
  readonly line: number;
  readonly text: string;
}

/** What may precede a regular expression, but not a division. */
const BEFORE_REGEXP = /(?:^|[=(,:[!&|?{};+\n>]|\breturn|\bcase)\s*$/;
const ESCAPES: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r" };

/** The string literals and templates of TypeScript source, without comments and regular expressions. */
export function stringLiterals(source: string): readonly StringLiteral[] {
  const found: StringLiteral[] = [];
  const lineAt = (at: number): number => source.slice(0, at).split("\n").length;

  /** Reads code up to a closing brace, or to the end; returns the position behind it. */
  function code(from: number): number {
    let depth = 0;
    for (let at = from; at < source.length; at += 1) {
      const character = source[at] ?? "";
      if (source.startsWith("//", at)) at = endOf("\n", at);
      else if (source.startsWith("/*", at)) at = endOf("*/", at) + 1;
      else if (character === "/" && BEFORE_REGEXP.test(source.slice(Math.max(0, at - 40), at)))
        at = regExp(at);
      else if (`"'\``.includes(character)) at = text(at) - 1;
      else if (character === "{") depth += 1;
      else if (character === "}" && depth === 0) return at + 1;
      else if (character === "}") depth -= 1;
    }
    return source.length;
  }

  function endOf(mark: string, from: number): number {
    const at = source.indexOf(mark, from);
    return at < 0 ? source.length : at;
  }

  function regExp(from: number): number {
    let isClass = false;
    let at = from + 1;
    for (; at < source.length && (isClass || source[at] !== "/"); at += 1) {
      if (source[at] === "\\") at += 1;
      else if (source[at] === "[") isClass = true;
      else if (source[at] === "]") isClass = false;
    }
    return at;
  }

  function text(from: number): number {
    const quote = source[from];
    let read = "";
    let at = from + 1;
    while (at < source.length && source[at] !== quote) {
      if (source[at] === "\\") {
        read += ESCAPES[source[at + 1] ?? ""] ?? source[at + 1] ?? "";
        at += 2;
      } else if (quote === "`" && source.startsWith("${", at)) {
        // biome-ignore lint/suspicious/noTemplateCurlyInString: it stands in for a value
        read += "${}";
        at = code(at + 2);
      } else {
        read += source[at];
        at += 1;
      }
    }
    found.push({ line: lineAt(from), text: read });
    return at + 1;
  }

  code(0);
  return found;
}
