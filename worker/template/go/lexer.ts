import { RenderProblem } from "./value.ts";

export type Token =
  | { readonly kind: "name" | "operator" | "variable"; readonly text: string; readonly spaced: boolean }
  /** A field such as `.a.b` with its names; `.` alone has none. */
  | { readonly kind: "field"; readonly names: readonly string[]; readonly spaced: boolean }
  | {
      readonly kind: "value";
      readonly value: string | boolean | bigint | number | null;
      readonly spaced: boolean;
    };

type Without<T> = T extends unknown ? Omit<T, "spaced"> : never;
type Unplaced = Without<Token>;

const NAME = String.raw`[\p{L}_][\p{L}\p{Nd}_]*`;
const RULES: readonly (readonly [RegExp, (match: string) => Unplaced])[] = [
  [/"(?:[^"\\\n]|\\.)*"/y, (text) => ({ kind: "value", value: unquoted(text) })],
  [/`[^`]*`/y, (text) => ({ kind: "value", value: text.slice(1, -1).replaceAll("\r", "") })],
  [/'(?:[^'\\\n]|\\.)+'/y, (text) => ({ kind: "value", value: runeOf(text) })],
  [
    /[+-]?\d+\.\d*(?:[eE][+-]?\d+)?|[+-]?\d+[eE][+-]?\d+/y,
    (text) => ({ kind: "value", value: Number(text) }),
  ],
  [
    /[+-]?(?:0[xX][\da-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|\d+)/y,
    (text) => ({ kind: "value", value: integer(text) }),
  ],
  [new RegExp(String.raw`\$(?:${NAME})?`, "yu"), (text) => ({ kind: "variable", text })],
  [
    new RegExp(String.raw`(?:\.${NAME})+|\.`, "yu"),
    (text) => ({ kind: "field", names: text.split(".").filter((name) => name !== "") }),
  ],
  [new RegExp(NAME, "yu"), (text) => nameToken(text)],
  [/:=|[=|(),]/y, (text) => ({ kind: "operator", text })],
];
const SPACE = /[ \t\r\n]+/y;

/** The tokens of the text between braces. Throws a `RenderProblem`. */
export function tokensOf(text: string): readonly Token[] {
  const tokens: Token[] = [];
  let spaced = true;
  for (let at = 0; at < text.length; ) {
    SPACE.lastIndex = at;
    const space = SPACE.exec(text);
    if (space) {
      spaced = true;
      at += space[0].length;
      continue;
    }
    const found = tokenAt(text, at);
    if (!found) throw new RenderProblem(`unexpected ${JSON.stringify(text.slice(at, at + 1))}`);
    tokens.push({ ...found.token, spaced } as Token);
    spaced = false;
    at += found.length;
  }
  return tokens;
}

function tokenAt(text: string, at: number) {
  for (const [rule, read] of RULES) {
    rule.lastIndex = at;
    const match = rule.exec(text);
    if (match) return { token: read(match[0]), length: match[0].length };
  }
  return undefined;
}

function nameToken(text: string): Unplaced {
  if (text === "true" || text === "false") return { kind: "value", value: text === "true" };
  return text === "nil" ? { kind: "value", value: null } : { kind: "name", text };
}

function integer(text: string): bigint {
  const [, sign = "", digits = ""] = /^([+-]?)(.*)$/.exec(text) ?? [];
  const octal = /^0[0-7]+$/.test(digits) ? `0o${digits.slice(1)}` : digits;
  const value = BigInt(octal);
  return sign === "-" ? -value : value;
}

function unquoted(text: string): string {
  try {
    // Go also has \a, \v, \x41 and octal escapes.
    const inner = text
      .slice(1, -1)
      .replace(/\\(?:x([\da-fA-F]{2})|([0-7]{3})|([av'])|(.))/g, (whole, hex, octal, letter) => {
        if (hex !== undefined) return `\\u00${hex}`;
        if (octal !== undefined) return `\\u${Number.parseInt(octal, 8).toString(16).padStart(4, "0")}`;
        if (letter !== undefined) return letter === "a" ? "\\u0007" : letter === "v" ? "\\u000b" : "'";
        return whole;
      });
    return String(JSON.parse(`"${inner.replaceAll("\t", "\\t")}"`));
  } catch {
    throw new RenderProblem(`${text} is no text`);
  }
}

function runeOf(text: string): bigint {
  const inner = unquoted(`"${text.slice(1, -1).replaceAll('"', '\\"')}"`);
  return BigInt(inner.codePointAt(0) ?? 0);
}
