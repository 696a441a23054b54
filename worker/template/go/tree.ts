import { type Pipeline, parseStatement, type Statement } from "./parser.ts";
import { RenderProblem } from "./value.ts";

export type Node =
  | { readonly kind: "text"; readonly start: number; readonly end: number }
  | { readonly kind: "print"; readonly offset: number; readonly pipeline: Pipeline }
  /** A part that cannot be read. Its problem was reported. */
  | { readonly kind: "broken"; readonly offset: number }
  | { readonly kind: "break" | "continue"; readonly offset: number }
  | {
      readonly kind: "template";
      readonly offset: number;
      readonly name: string;
      readonly pipeline?: Pipeline;
    }
  | (Block & { readonly kind: "if" | "with" })
  | (Block & { readonly kind: "range" });

interface Block {
  readonly offset: number;
  readonly pipeline: Pipeline;
  readonly body: readonly Node[];
  readonly otherwise: readonly Node[];
}

export interface Tree {
  readonly nodes: readonly Node[];
  readonly templates: ReadonlyMap<string, readonly Node[]>;
}

const SPACE = " \t\r\n";
const TRIMS_BEFORE = new RegExp(`^-[${SPACE}]`);
const TRIMS_AFTER = new RegExp(`[${SPACE}]-$`);
const DEEPEST = 100;

/** The content of a pair of braces. */
interface Piece {
  readonly offset: number;
  readonly inner: string;
}

/** Parses a template. Passes each problem with its offset to `report`. */
export function readTree(source: string, report: (offset: number, message: string) => void): Tree {
  return new TreeReader(source, report).read();
}

class TreeReader {
  readonly #source: string;
  readonly #report: (offset: number, message: string) => void;
  readonly #templates = new Map<string, readonly Node[]>();
  #at = 0;

  constructor(source: string, report: (offset: number, message: string) => void) {
    this.#source = source;
    this.#report = report;
  }

  read(): Tree {
    const nodes: Node[] = [];
    for (;;) {
      const { end, offset } = this.#nodes(nodes, 0, false);
      if (end === undefined) break;
      this.#report(offset, `unexpected ${end.kind}`);
    }
    return { nodes, templates: this.#templates };
  }

  /** Adds the nodes up to the end of their block. Returns the end, or undefined at the end of the source. */
  #nodes(
    nodes: Node[],
    depth: number,
    isLoop: boolean,
  ): { readonly end?: Statement & { readonly kind: "else" | "end" }; readonly offset: number } {
    for (let piece = this.#piece(nodes); piece; piece = this.#piece(nodes)) {
      const { offset } = piece;
      const statement = this.#statement(piece);
      if (!statement) {
        nodes.push({ kind: "broken", offset });
        continue;
      }
      if (statement.kind === "else" || statement.kind === "end") return { end: statement, offset };
      if (depth > DEEPEST) this.#report(offset, "the template is nested too deeply");
      else this.#add(nodes, statement, offset, depth, isLoop);
    }
    return { offset: this.#source.length };
  }

  #add(
    nodes: Node[],
    statement: Exclude<Statement, { kind: "else" | "end" }>,
    offset: number,
    depth: number,
    isLoop: boolean,
  ): void {
    switch (statement.kind) {
      case "comment":
        return;
      case "print":
        nodes.push({ kind: "print", offset, pipeline: statement.pipeline });
        return;
      case "break":
      case "continue":
        if (isLoop) nodes.push({ kind: statement.kind, offset });
        else this.#report(offset, `${statement.kind} outside of range`);
        return;
      case "template":
        nodes.push({ ...statement, kind: "template", offset });
        return;
      case "define":
      case "block":
        this.#templates.set(statement.name, this.#block(offset, depth, false).body);
        if (statement.kind === "block") nodes.push({ ...statement, kind: "template", offset });
        return;
      default: {
        const loop = isLoop || statement.kind === "range";
        const { pipeline } = statement;
        const block = { pipeline, offset, ...this.#block(offset, depth, loop) };
        nodes.push(
          statement.kind === "range" ? { kind: "range", ...block } : { kind: statement.kind, ...block },
        );
      }
    }
  }

  #block(
    offset: number,
    depth: number,
    isLoop: boolean,
  ): { readonly body: readonly Node[]; readonly otherwise: readonly Node[] } {
    const body: Node[] = [];
    const otherwise: Node[] = [];
    const ended = this.#nodes(body, depth + 1, isLoop);
    if (ended.end === undefined) this.#report(offset, "an {{ end }} is missing");
    if (ended.end?.kind !== "else") return { body, otherwise };
    const { chained } = ended.end;
    if (chained) {
      // `else if` ends with the outer block.
      otherwise.push({ ...chained, offset: ended.offset, ...this.#block(ended.offset, depth + 1, isLoop) });
      return { body, otherwise };
    }
    const last = this.#nodes(otherwise, depth + 1, isLoop);
    if (last.end?.kind === "else") this.#report(last.offset, "a second {{ else }}");
    if (last.end === undefined) this.#report(offset, "an {{ end }} is missing");
    return { body, otherwise };
  }

  #statement({ inner, offset }: Piece): Statement | undefined {
    try {
      return parseStatement(inner);
    } catch (thrown) {
      if (!(thrown instanceof RenderProblem)) throw thrown;
      this.#report(offset, thrown.message);
      return undefined;
    }
  }

  /** The next piece between braces. Adds the text before it or, without one, all remaining text. */
  #piece(nodes: Node[]): Piece | undefined {
    const source = this.#source;
    const start = this.#at;
    if (start > source.length) return undefined;
    const open = source.indexOf("{{", start);
    const close = open < 0 ? -1 : closeOf(source, open + 2);
    if (close < 0) {
      if (open >= 0) this.#report(open, "{{ without }}");
      addText(nodes, start, source.length);
      this.#at = source.length + 1;
      return undefined;
    }
    const inner = source.slice(open + 2, close);
    addText(nodes, start, TRIMS_BEFORE.test(inner) ? spaceBefore(source, open, start) : open);
    this.#at = TRIMS_AFTER.test(inner) ? spaceAfter(source, close + 2) : close + 2;
    const body = inner.replace(TRIMS_BEFORE, "").replace(TRIMS_AFTER, "");
    return { offset: open, inner: body };
  }
}

/** Finds the closing braces. Braces in quoted text do not count. */
function closeOf(source: string, from: number): number {
  const rule = /\}\}|"(?:[^"\\\n]|\\.)*"|`[^`]*`|\/\*[\s\S]*?\*\//g;
  rule.lastIndex = from;
  for (let match = rule.exec(source); match; match = rule.exec(source)) {
    if (match[0] === "}}") return match.index;
  }
  return -1;
}

function addText(nodes: Node[], start: number, end: number): void {
  if (end > start) nodes.push({ kind: "text", start, end });
}

/** The start of the white space that ends at `end`, but not before `least`. */
function spaceBefore(source: string, end: number, least: number): number {
  let at = end;
  while (at > least && SPACE.includes(source.charAt(at - 1))) at -= 1;
  return at;
}

/** The end of the white space that starts at `start`. */
function spaceAfter(source: string, start: number): number {
  let at = start;
  while (at < source.length && SPACE.includes(source.charAt(at))) at += 1;
  return at;
}
