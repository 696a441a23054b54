import { oneLine } from "../../shared/contract/result.ts";
import { INPUT_BYTES } from "../../shared/input-limits.ts";
import type { Pipeline } from "./go/parser.ts";
import { entriesOf, evaluate, Scope } from "./go/render.ts";
import { type Node, readTree, type Tree } from "./go/tree.ts";
import { isTrue, printed, RenderProblem, type Value, type ValueMap } from "./go/value.ts";

/** A problem at an offset of the source text. */
export interface SourceProblem {
  readonly offset: number;
  readonly message: string;
}

export interface Substitution {
  readonly text: string;
  readonly problems: readonly SourceProblem[];
  /** The keys that the source uses, whether they have a value or not. */
  readonly keys: ReadonlySet<string>;
  readonly isTooLarge: boolean;
  /** Maps an offset of `text` to the source. For substituted text, it is the offset of the braces. */
  sourceOffset(offset: number): number;
}

interface Piece {
  readonly start: number;
  readonly source: number;
  readonly literal: boolean;
}

/** The limit for Kubernetes objects, which templates are. */
export const LONGEST_TEMPLATE = INPUT_BYTES.template;

/** The limit of Tinkerbell's controller for what it renders, in bytes. */
const LONGEST_RENDERED = INPUT_BYTES.renderedTemplate;

/** Replaces text that could not be rendered, so that the rest can be checked. It is valid as a name, an image and a number. */
const STAND_IN = "0";
/** The maximum number of steps, because nested loops must end. */
const MOST_STEPS = 200_000;
const DEEPEST_TEMPLATE = 50;

/** Renders a template as Tinkerbell's controller does, with Go's syntax and the functions of `go/functions.ts`. */
export function substitute(source: string, values: ValueMap): Substitution {
  const rendering = new Rendering(source, values);
  rendering.render();
  return rendering;
}

/** How a block ended. */
type Flow = "next" | "break" | "continue" | "stop";

class Rendering implements Substitution {
  readonly #source: string;
  readonly #values: ValueMap;
  readonly #tree: Tree;
  readonly #pieces: Piece[] = [];
  readonly #reported = new Set<number>();
  readonly problems: SourceProblem[] = [];
  readonly keys = new Set<string>();
  text = "";
  #bytes = 0;
  #steps = 0;

  constructor(source: string, values: ValueMap) {
    this.#source = source;
    this.#values = values;
    this.#tree = readTree(source, (offset, message) => this.#report(offset, message));
    for (const nodes of [this.#tree.nodes, ...this.#tree.templates.values()]) this.#collectKeys(nodes);
  }

  render(): void {
    this.#block(this.#tree.nodes, this.#values, new Scope(), 0);
    this.problems.sort((one, other) => one.offset - other.offset);
  }

  readonly sourceOffset = (offset: number): number => sourceOffset(this.#pieces, offset);

  /** Reports each problem only once, because a loop finds the same problem repeatedly. */
  #report(offset: number, message: string): void {
    if (this.#reported.has(offset)) return;
    this.#reported.add(offset);
    this.problems.push({ offset, message });
  }

  #append(piece: string, source: number, literal: boolean): void {
    this.#pieces.push({ start: this.text.length, source, literal });
    this.text += piece;
    this.#bytes += Buffer.byteLength(piece);
  }

  #block(nodes: readonly Node[], dot: Value, outer: Scope, depth: number): Flow {
    const scope = new Scope(outer);
    for (const node of nodes) {
      const flow = this.#node(node, dot, scope, depth);
      if (flow !== "next") return flow;
    }
    return "next";
  }

  #node(node: Node, dot: Value, scope: Scope, depth: number): Flow {
    if (node.kind === "text") {
      this.#append(this.#source.slice(node.start, node.end), node.start, true);
      return this.#isWithinLimits(node.start) ? "next" : "stop";
    }
    if (!this.#isWithinLimits(node.offset)) return "stop";
    switch (node.kind) {
      case "broken":
        this.#append(STAND_IN, node.offset, false);
        return "next";
      case "break":
      case "continue":
        return node.kind;
      case "print": {
        const result = this.#evaluate(node.offset, node.pipeline, dot, scope);
        const isSilent = node.pipeline.variables.length > 0;
        if (!isSilent) this.#append(result.ok ? printed(result.value) : STAND_IN, node.offset, false);
        return this.#isWithinLimits(node.offset) ? "next" : "stop";
      }
      case "template":
        return this.#template(node, dot, scope, depth);
      case "range":
        return this.#range(node, dot, new Scope(scope), depth);
      default: {
        const inner = new Scope(scope);
        const result = this.#evaluate(node.offset, node.pipeline, dot, inner);
        // A condition that cannot be decided counts as true, so that its text is checked.
        const isChosen = !result.ok || isTrue(result.value);
        const now = node.kind === "with" && result.ok && isChosen ? result.value : dot;
        return this.#block(isChosen ? node.body : node.otherwise, now, inner, depth);
      }
    }
  }

  #template(node: Node & { readonly kind: "template" }, dot: Value, scope: Scope, depth: number): Flow {
    const nodes = this.#tree.templates.get(node.name);
    if (!nodes || depth > DEEPEST_TEMPLATE) {
      this.#report(
        node.offset,
        nodes ? "templates are nested too deeply" : `there is no template ${node.name}`,
      );
      return "next";
    }
    const result = node.pipeline ? this.#evaluate(node.offset, node.pipeline, dot, scope) : undefined;
    return this.#block(nodes, result?.ok ? result.value : undefined, new Scope(), depth + 1);
  }

  #range(node: Node & { readonly kind: "range" }, dot: Value, scope: Scope, depth: number): Flow {
    const { offset, pipeline, body, otherwise } = node;
    const result = this.#evaluate(offset, { ...pipeline, variables: [] }, dot, scope);
    if (!result.ok) return "next";
    const [first, second] = pipeline.variables;
    let isEmpty = true;
    try {
      for (const [key, value] of entriesOf(result.value)) {
        isEmpty = false;
        if (first !== undefined) scope.declare(first, second === undefined ? value : key);
        if (second !== undefined) scope.declare(second, value);
        const flow = this.#block(body, value, scope, depth);
        if (flow === "stop") return flow;
        if (flow === "break" || !this.#isWithinLimits(offset)) break;
      }
    } catch (thrown) {
      if (!(thrown instanceof RenderProblem)) throw thrown;
      this.#report(offset, thrown.message);
    }
    return isEmpty ? this.#block(otherwise, dot, scope, depth) : "next";
  }

  #evaluate(
    offset: number,
    pipeline: Pipeline,
    dot: Value,
    scope: Scope,
  ): { readonly ok: true; readonly value: Value } | { readonly ok: false } {
    try {
      const missing = (key: string) => this.#missing(key);
      return { ok: true, value: evaluate(pipeline, { dot, scope, missing, root: this.#values }) };
    } catch (thrown) {
      if (!(thrown instanceof RenderProblem)) throw thrown;
      this.#report(offset, oneLine(thrown.message));
      return { ok: false };
    }
  }

  #missing(key: string): string {
    if (key === "hardware" || key === "Hardware") return `no value for ${key}: add --hardware <file>`;
    return `no value for ${key}: add --map ${key}=<value>`;
  }

  get isTooLarge(): boolean {
    return this.#bytes > LONGEST_RENDERED;
  }

  #isWithinLimits(offset: number): boolean {
    this.#steps += 1;
    if (!this.isTooLarge && this.#steps <= MOST_STEPS) return true;
    this.problems.push({
      offset,
      message: this.isTooLarge
        ? `the rendered template exceeds ${LONGEST_RENDERED} bytes`
        : "the template takes too long to render",
    });
    return false;
  }

  #collectKeys(nodes: readonly Node[]): void {
    for (const node of nodes) {
      if ("pipeline" in node && node.pipeline) this.#collectFrom(node.pipeline);
      if ("body" in node) for (const inner of [node.body, node.otherwise]) this.#collectKeys(inner);
    }
  }

  #collectFrom({ commands }: Pipeline): void {
    for (const { of, fields } of commands.flat()) {
      const [key] = fields;
      const isData = of.kind === "dot" || (of.kind === "variable" && of.name === "$");
      if (isData && key !== undefined) this.keys.add(key);
      if (of.kind === "pipeline") this.#collectFrom(of.pipeline);
    }
  }
}

/** Finds the last piece at or before `offset` by binary search, because a template may have 100,000 pieces. */
function sourceOffset(pieces: readonly Piece[], offset: number): number {
  let [low, high] = [0, pieces.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((pieces[middle]?.start ?? 0) <= offset) low = middle + 1;
    else high = middle;
  }
  const piece = pieces[low - 1];
  if (piece === undefined) return 0;
  return piece.literal ? piece.source + (offset - piece.start) : piece.source;
}
