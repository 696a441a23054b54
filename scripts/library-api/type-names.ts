import type { Node } from "oxc-parser";

/** Types of the language, of the web and of Node. */
const BUILT_IN = ["AbortSignal", "Blob", "Error", "Promise", "Readonly", "Record", "Uint8Array"];

/** The types that a node names and that are neither built in nor exported. */
export function foreignTypes(node: Node, exported: ReadonlySet<string>): readonly string[] {
  return typeNames(node).filter((name) => !BUILT_IN.includes(name) && !exported.has(name));
}

function typeNames(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(typeNames);
  if (typeof value !== "object" || value === null) return [];
  const { type, typeName } = value as { type?: string; typeName?: { name?: string } };
  const own = type === "TSTypeReference" && typeName?.name !== undefined ? [typeName.name] : [];
  return [...own, ...Object.values(value).flatMap(typeNames)];
}
