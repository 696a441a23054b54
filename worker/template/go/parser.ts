import { type Token, tokensOf } from "./lexer.ts";
import { RenderProblem } from "./value.ts";

type Operand =
  | { readonly kind: "value"; readonly value: string | boolean | bigint | number | null }
  | { readonly kind: "function"; readonly name: string }
  | { readonly kind: "dot" }
  | { readonly kind: "variable"; readonly name: string }
  | { readonly kind: "pipeline"; readonly pipeline: Pipeline };

/** An operand and its fields. */
export interface Term {
  readonly of: Operand;
  readonly fields: readonly string[];
}

/** The first term, which may be a function, and its arguments. */
export type Command = readonly [Term, ...Term[]];

export interface Pipeline {
  readonly commands: readonly Command[];
  readonly variables: readonly string[];
  readonly declares: boolean;
}

export type Statement =
  | { readonly kind: "print"; readonly pipeline: Pipeline }
  | { readonly kind: "if" | "with" | "range"; readonly pipeline: Pipeline }
  | {
      readonly kind: "else";
      readonly chained?: { readonly kind: "if" | "with"; readonly pipeline: Pipeline };
    }
  | { readonly kind: "end" }
  | { readonly kind: "break" | "continue" }
  | { readonly kind: "comment" }
  | { readonly kind: "define" | "block" | "template"; readonly name: string; readonly pipeline?: Pipeline };

/** Parses the text between braces. Throws a `RenderProblem`. */
export function parseStatement(text: string): Statement {
  if (/^\s*\/\*[\s\S]*\*\/\s*$/.test(text)) return { kind: "comment" };
  const reader = new Reader(tokensOf(text));
  const statement = statementIn(reader);
  reader.end();
  return statement;
}

function statementIn(reader: Reader): Statement {
  const keyword = reader.keyword();
  switch (keyword) {
    case "if":
    case "with":
    case "range":
      return { kind: keyword, pipeline: reader.pipeline() };
    case "else": {
      const chained = reader.keyword();
      if (chained === undefined) return { kind: "else" };
      if (chained !== "if" && chained !== "with")
        throw new RenderProblem(`unexpected ${chained} behind else`);
      return { kind: "else", chained: { kind: chained, pipeline: reader.pipeline() } };
    }
    case "end":
      return { kind: keyword };
    case "break":
    case "continue":
      return { kind: keyword };
    case "define":
      return { kind: keyword, name: reader.text() };
    case "template":
    case "block": {
      const name = reader.text();
      return reader.isDone ? { kind: keyword, name } : { kind: keyword, name, pipeline: reader.pipeline() };
    }
    default:
      return { kind: "print", pipeline: reader.pipeline() };
  }
}

const KEYWORDS = new Set([
  "if",
  "with",
  "range",
  "else",
  "end",
  "break",
  "continue",
  "define",
  "template",
  "block",
]);
const DEEPEST = 50;

class Reader {
  readonly #tokens: readonly Token[];
  #at = 0;
  #depth = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  get isDone(): boolean {
    return this.#at >= this.#tokens.length;
  }

  get #next(): Token | undefined {
    return this.#tokens[this.#at];
  }

  keyword(): string | undefined {
    const token = this.#next;
    if (token?.kind !== "name" || !KEYWORDS.has(token.text)) return undefined;
    this.#at += 1;
    return token.text;
  }

  text(): string {
    const token = this.#next;
    if (token?.kind !== "value" || typeof token.value !== "string")
      throw new RenderProblem("the name of a template is missing");
    this.#at += 1;
    return token.value;
  }

  end(): void {
    if (!this.isDone) throw new RenderProblem(`unexpected ${shown(this.#next)}`);
  }

  pipeline(): Pipeline {
    this.#depth += 1;
    if (this.#depth > DEEPEST) throw new RenderProblem("parentheses are nested too deeply");
    const { variables, declares } = this.#assignment();
    const commands = [this.#command()];
    while (this.#operator("|")) commands.push(this.#command());
    this.#depth -= 1;
    return { commands, variables, declares };
  }

  #assignment(): { readonly variables: readonly string[]; readonly declares: boolean } {
    const start = this.#at;
    const variables: string[] = [];
    do {
      const token = this.#next;
      if (token?.kind !== "variable") break;
      variables.push(token.text);
      this.#at += 1;
    } while (this.#operator(","));
    const declares = this.#operator(":=");
    if (variables.length > 0 && (declares || this.#operator("="))) return { variables, declares };
    this.#at = start;
    return { variables: [], declares: false };
  }

  #command(): Command {
    const first = this.#term();
    if (!first)
      throw new RenderProblem(this.isDone ? "a value is missing" : `unexpected ${shown(this.#next)}`);
    const others: Term[] = [];
    for (let term = this.#term(); term; term = this.#term()) others.push(term);
    return [first, ...others];
  }

  #term(): Term | undefined {
    const of = this.#operand();
    if (!of) return undefined;
    const [first, ...rest] = of;
    const fields = [...rest];
    // A field that follows immediately, such as in `$x.a` and `(…).a`.
    for (let token = this.#next; token?.kind === "field" && !token.spaced; token = this.#next) {
      fields.push(...token.names);
      this.#at += 1;
    }
    return { of: first, fields };
  }

  #operand(): readonly [Operand, ...string[]] | undefined {
    const token = this.#next;
    if (!token) return undefined;
    if (token.kind === "operator") {
      if (token.text !== "(") return undefined;
      this.#at += 1;
      const pipeline = this.pipeline();
      if (!this.#operator(")")) throw new RenderProblem("a ) is missing");
      return [{ kind: "pipeline", pipeline }];
    }
    this.#at += 1;
    switch (token.kind) {
      case "value":
        return [{ kind: "value", value: token.value }];
      case "variable":
        return [{ kind: "variable", name: token.text }];
      case "field":
        return [{ kind: "dot" }, ...token.names];
      default:
        if (KEYWORDS.has(token.text)) throw new RenderProblem(`unexpected ${token.text}`);
        return [{ kind: "function", name: token.text }];
    }
  }

  #operator(text: string): boolean {
    const token = this.#next;
    if (token?.kind !== "operator" || token.text !== text) return false;
    this.#at += 1;
    return true;
  }
}

function shown(token: Token | undefined): string {
  if (!token) return "end";
  if (token.kind === "field") return `.${token.names.join(".")}`;
  return token.kind === "value" ? JSON.stringify(String(token.value)) : token.text;
}
