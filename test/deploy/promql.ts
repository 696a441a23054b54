/** A metric that an expression selects. */
interface Selector {
  readonly name: string;
  readonly matchers: readonly { readonly label: string; readonly operator: string; readonly value: string }[];
}

export interface Expression {
  readonly selectors: readonly Selector[];
  /** What it groups by or joins on. */
  readonly groupedBy: readonly string[];
}

const FUNCTIONS = [
  ...[
    "absent",
    "changes",
    "histogram_quantile",
    "increase",
    "rate",
    "max_over_time",
    "min_over_time",
    "time",
  ],
  ...["sum", "min", "max", "count"],
];
const WORDS = ["and", "or", "unless", "offset", "bool"];
const TOKEN =
  /"(?:[^"\\]|\\.)*"|\[[^\]]*\]|[a-zA-Z_:][a-zA-Z0-9_:]*|\d+(?:\.\d+)?|=~|!~|!=|>=|<=|==|[-+*/(){},=<>]|\s+/gy;

/** Parses the part of PromQL that the dashboard and the alerts use. Throws for anything else. */
export function readPromql(text: string): Expression {
  const tokens = tokensOf(text);
  const selectors: Selector[] = [];
  const groupedBy: string[] = [];
  for (let at = 0; at < tokens.length; at += 1) {
    const token = tokens[at] ?? "";
    if (!/^[a-zA-Z_:]/.test(token) || WORDS.includes(token)) continue;
    const next = tokens[at + 1];
    if (token === "by" || token === "on") {
      const end = tokens.indexOf(")", at);
      groupedBy.push(...tokens.slice(at + 2, end).filter((each) => each !== ","));
      at = end;
    } else if (next === "{") {
      const end = tokens.indexOf("}", at);
      selectors.push({ name: token, matchers: matchersOf(tokens.slice(at + 2, end), text) });
      at = end;
    } else if (next === "(" || next === "by") {
      if (!FUNCTIONS.includes(token)) throw new Error(`no function ${token} is known: ${text}`);
    } else selectors.push({ name: token, matchers: [] });
  }
  return { selectors, groupedBy };
}

function tokensOf(text: string): readonly string[] {
  const found = [...text.matchAll(TOKEN)].map(([token]) => token);
  if (found.join("") !== text) throw new Error(`not understood from ${text.slice(found.join("").length)}`);
  const open = (bracket: string) => found.filter((token) => token === bracket).length;
  if (open("(") !== open(")") || open("{") !== open("}")) throw new Error(`a bracket is not closed: ${text}`);
  return found.filter((token) => token.trim() !== "");
}

function matchersOf(tokens: readonly string[], text: string): Selector["matchers"] {
  const matchers = [];
  for (let at = 0; at < tokens.length; at += 4) {
    const [label = "", operator = "", value = "", comma = ","] = tokens.slice(at, at + 4);
    if (!/^(=|!=|=~|!~)$/.test(operator) || !value.startsWith('"') || comma !== ",") {
      throw new Error(`no matcher of a label: ${text}`);
    }
    matchers.push({ label, operator, value: value.slice(1, -1) });
  }
  return matchers;
}
