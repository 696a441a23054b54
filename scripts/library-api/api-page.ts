import type { ClassElement, Node, ParamPattern, TSSignature, TSTypeAnnotation } from "oxc-parser";
import { CHECK_STATES } from "../../shared/bmc/operations/finding.ts";
import { CAPABILITIES, DRIVER_NAMES, OPERATIONS } from "../../shared/bmc/operations/table.ts";
import { SessionProvider } from "../../shared/contract/vocabulary.ts";
import { markdownTable } from "../markdown-table.ts";
import { operationMethods } from "./operation-methods.ts";
import { connectionTable } from "./schema-fields.ts";
import { type Doc, SourceModule } from "./source-module.ts";
import { foreignTypes } from "./type-names.ts";

const INDEX = "shared/bmc/index.ts";
/** Types whose values are computed from others. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  Capability: CAPABILITIES,
  CheckState: CHECK_STATES,
  DriverName: DRIVER_NAMES,
  SessionProvider: SessionProvider.options,
};
const FIELDS = ["field", "type", "required", "description"];
const MEMBERS = ["member", "type", "description"];

/** The library's reference. */
export function renderLibraryApi(): string {
  return [
    "# API of the BMC library",
    "Every export of `@pbnj-worker/bmc`; [the BMC library](bmc-library.md) shows how to use them. Durations are in milliseconds.",
    `<!-- generated from the doc comments of ${INDEX}: npm run docs -->`,
    ...apiSections(INDEX),
    "",
  ].join("\n\n");
}

/**
 * Each export of a file, as its doc comment describes it. Throws for an export, field or method without a comment, and for a type
 * of theirs that is not exported.
 */
export function apiSections(index: string): readonly string[] {
  const exported = new SourceModule(index).reExports();
  const names = new Set(exported.map(({ name }) => name));
  return exported
    .toSorted((one, other) => one.name.localeCompare(other.name))
    .map(({ name, path }) => section(name, new SourceModule(path), names));
}

/** One export: its comment, its example, and what it consists of. */
function section(name: string, source: SourceModule, exported: ReadonlySet<string>): string {
  const declarations = source.declarationsOf(name);
  const parameters = declarations.flatMap(({ node }) => typeParameters(node));
  const page = new Section(source, new Set([...exported, ...parameters]));
  const doc = declarations.map((declaration) => declaration.doc).find((found) => found !== undefined);
  if (!doc?.text) throw new Error(`${source.path}: ${name} lacks a doc comment`);
  const parts =
    name === "Connection"
      ? [connectionTable()]
      : new Set(declarations.flatMap(({ node }) => page.parts(name, node)));
  const example = doc.example === undefined ? [] : [`\`\`\`ts\n${doc.example}\n\`\`\``];
  const generic = parameters.length > 0 ? `\\<${parameters.join(", ")}>` : "";
  return [`## ${name}${generic}`, doc.text, ...example, ...parts].join("\n\n");
}

class Section {
  readonly #source: SourceModule;
  readonly #exported: ReadonlySet<string>;

  constructor(source: SourceModule, exported: ReadonlySet<string>) {
    this.#source = source;
    this.#exported = exported;
  }

  parts(name: string, node: Node): readonly string[] {
    const values = VALUES[name];
    if (values) return [literals(values)];
    switch (node.type) {
      case "ClassDeclaration": {
        const rows = node.body.body.flatMap((member) => this.#memberRows(member));
        const operations = name === "BmcClient" ? this.#operationRows() : [];
        return [markdownTable(MEMBERS, [...rows, ...operations])];
      }
      case "FunctionDeclaration":
        return [`\`${name}(${this.#parameters(node.params)}): ${this.#type(node.returnType)}\``];
      case "TSInterfaceDeclaration":
        return [markdownTable(FIELDS, this.#fieldRows(node.body.body, ""))];
      case "TSTypeAliasDeclaration":
        return this.#aliasParts(node.typeAnnotation);
      default:
        return [];
    }
  }

  /** A union of objects is a table per object, any other type is itself, and the type of a schema is the schema's values. */
  #aliasParts(type: Node): readonly string[] {
    if (type.type === "TSUnionType" && type.types.every((member) => member.type === "TSTypeLiteral")) {
      return type.types.flatMap((member) =>
        member.type === "TSTypeLiteral" ? [markdownTable(FIELDS, this.#fieldRows(member.members, ""))] : [],
      );
    }
    if (type.type === "TSUnionType" && type.types.every((member) => member.type === "TSLiteralType")) {
      return [type.types.map((member) => `\`${this.#source.text(member)}\``).join(", ")];
    }
    const [, schema] = /^z\.infer<typeof (\w+)>$/.exec(this.#source.text(type)) ?? [];
    if (schema === undefined) return [`\`${this.#text(type)}\``];
    const value = this.#source.constant(schema);
    const text = value && /^z\.enum\(\[(.*?),? ?\]\)$/.exec(this.#source.text(value))?.[1];
    if (!text) throw new Error(`${this.#source.path}: ${schema} is no enumeration`);
    return [literals(JSON.parse(`[${text}]`))];
  }

  #fieldRows(members: readonly TSSignature[], prefix: string): readonly (readonly string[])[] {
    return members.flatMap((member) => {
      if (member.type !== "TSPropertySignature" || !member.typeAnnotation) {
        throw new Error(`${this.#source.path}: ${this.#source.text(member)} is no field`);
      }
      const name = this.#source.text(member.key);
      const doc = this.#documented(member, name);
      if (doc.isInternal) return [];
      const { below, suffix } = nested(member.typeAnnotation.typeAnnotation);
      const type = below
        ? suffix
          ? "array of objects"
          : "object"
        : this.#fieldType(name, member.typeAnnotation);
      const row = [`\`${prefix}${name}\``, type, member.optional ? "no" : "yes", doc.text];
      return [row, ...(below ? this.#fieldRows(below, `${prefix}${name}${suffix}.`) : [])];
    });
  }

  #fieldType(name: string, annotation: TSTypeAnnotation): string {
    const type = this.#type(annotation);
    return type === "number" && name.endsWith("Ms") ? "number of milliseconds" : `\`${type}\``;
  }

  #memberRows(member: ClassElement): readonly (readonly string[])[] {
    if (member.type !== "MethodDefinition" && member.type !== "PropertyDefinition") return [];
    if (member.computed || member.key.type === "PrivateIdentifier") return [];
    const key = this.#source.text(member.key);
    const doc = this.#documented(member, key);
    const name = member.static ? `static ${key}` : key;
    if (doc.isInternal) return [];
    if (!("kind" in member)) {
      const type = member.typeAnnotation
        ? this.#type(member.typeAnnotation)
        : this.#source.text(member.value ?? member);
      return [[`\`${name}\``, `\`${type}\``, doc.text]];
    }
    const { params, returnType } = member.value;
    if (member.kind === "get") return [[`\`${name}\``, `\`${this.#type(returnType)}\``, doc.text]];
    const shown = member.kind === "constructor" ? "new" : name;
    const result = member.kind === "constructor" ? "" : `\`${this.#type(returnType)}\``;
    return [[`\`${shown}(${this.#parameters(params)})\``, result, doc.text]];
  }

  /** The methods of the operations, which are in a file per driver. */
  #operationRows(): readonly (readonly string[])[] {
    return DRIVER_NAMES.flatMap((driver) => {
      const source = new SourceModule(`shared/bmc/operations/${driver}.ts`);
      const page = new Section(source, this.#exported);
      return operationMethods(source).map(({ name, method }) => {
        const { text } = page.#documented(method, name);
        const { params, returnType } = method.value;
        const signature = `\`${name}(${page.#parameters(params)})\``;
        return [signature, `\`${page.#type(returnType)}\``, `${OPERATIONS[driver].title}: ${text}`];
      });
    });
  }

  #documented(node: Node, name: string): Doc {
    const doc = this.#source.docOf(node);
    if (!doc || (doc.text === "" && !doc.isInternal)) {
      throw new Error(`${this.#source.path}: ${name} lacks a doc comment`);
    }
    return doc;
  }

  #parameters(params: readonly ParamPattern[]): string {
    return params
      .map((param) =>
        param.type === "AssignmentPattern" ? this.#text(param.left).replace(":", "?:") : this.#text(param),
      )
      .join(", ");
  }

  #type(annotation: TSTypeAnnotation | null | undefined): string {
    if (!annotation) throw new Error(`${this.#source.path}: a public type is inferred`);
    return this.#text(annotation.typeAnnotation);
  }

  /** Throws for a type that users of the library cannot import. */
  #text(node: Node): string {
    const foreign = foreignTypes(node, this.#exported);
    if (foreign.length > 0) {
      throw new Error(`${this.#source.path}: ${foreign.join(", ")} is public, but not exported`);
    }
    return this.#source.text(node);
  }
}

function typeParameters(node: Node): readonly string[] {
  return node.type === "TSInterfaceDeclaration"
    ? (node.typeParameters?.params ?? []).map(({ name }) => name.name)
    : [];
}

function literals(values: readonly string[]): string {
  return values.map((value) => `\`${JSON.stringify(value)}\``).join(", ");
}

/** The fields of an object type that has no name, or of the objects in an array. */
function nested(type: Node): { readonly below?: readonly TSSignature[]; readonly suffix: string } {
  if (type.type === "TSTypeLiteral") return { below: type.members, suffix: "" };
  if (type.type === "TSTypeOperator") return nested(type.typeAnnotation);
  if (type.type === "TSArrayType" && type.elementType.type === "TSTypeLiteral") {
    return { below: type.elementType.members, suffix: "[]" };
  }
  return { suffix: "" };
}
