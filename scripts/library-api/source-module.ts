import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Node, parseSync, type Span, type Statement } from "oxc-parser";

/** A doc comment. */
export interface Doc {
  /** In one line. */
  readonly text: string;
  /** The program after `@example`. */
  readonly example?: string;
  /** Not for users of the library (`@internal`). */
  readonly isInternal: boolean;
}

/** One name that a module exports from another. */
interface ReExport {
  readonly name: string;
  readonly path: string;
}

/** A source file with its syntax tree. */
export class SourceModule {
  readonly path: string;
  readonly body: readonly Statement[];
  readonly #source: string;
  readonly #comments: ReadonlyMap<number, string>;

  constructor(path: string) {
    this.path = path;
    this.#source = readFileSync(path, "utf8");
    const { program, comments, errors } = parseSync(path, this.#source, { preserveParens: false });
    if (errors.length > 0) throw new Error(`${path}: ${errors[0]?.message}`);
    this.body = program.body;
    this.#comments = new Map(
      comments.flatMap(({ type, value, end }) =>
        type === "Block" && value.startsWith("*") ? [[end, value] as const] : [],
      ),
    );
  }

  /** What a file exports from others, in its order. */
  reExports(): readonly ReExport[] {
    return this.body.flatMap((statement) => {
      if (statement.type !== "ExportNamedDeclaration" || !statement.source) return [];
      const path = join(dirname(this.path), statement.source.value);
      return statement.specifiers.map(({ exported }) => ({ name: this.text(exported), path }));
    });
  }

  /** Each statement that declares the name: a schema and its type have the same one. */
  declarationsOf(name: string): readonly { readonly node: Node; readonly doc: Doc | undefined }[] {
    return this.body.flatMap((statement) => {
      const node = statement.type === "ExportNamedDeclaration" ? statement.declaration : statement;
      if (!node || !("id" in node || node.type === "VariableDeclaration")) return [];
      const declared = node.type === "VariableDeclaration" ? node.declarations[0] : node;
      const id = declared?.id;
      return id && "name" in id && id.name === name ? [{ node, doc: this.docOf(statement) }] : [];
    });
  }

  /** The value of a constant. */
  constant(name: string): Node | undefined {
    const [found] = this.declarationsOf(name).filter(({ node }) => node.type === "VariableDeclaration");
    return found?.node.type === "VariableDeclaration"
      ? (found.node.declarations[0]?.init ?? undefined)
      : undefined;
  }

  /** In one line. */
  text({ start, end }: Span): string {
    return this.#source
      .slice(start, end)
      .replaceAll(/\s+/g, " ")
      .replaceAll(/\( /g, "(")
      .replaceAll(/,? \)/g, ")")
      .replace(/^\| /, "");
  }

  /** The doc comment that ends where the node begins. */
  docOf({ start }: Span): Doc | undefined {
    const end = this.#source.slice(0, start).trimEnd().length;
    const comment = this.#comments.get(end);
    if (comment === undefined) return undefined;
    const lines = comment.slice(1).replaceAll(/^ *\* ?/gm, "");
    const [before = "", example] = lines.split("@example\n");
    return {
      text: before.replace("@internal", "").trim().replaceAll(/\s+/g, " "),
      isInternal: before.includes("@internal"),
      ...(example === undefined ? {} : { example: example.trim() }),
    };
  }
}
