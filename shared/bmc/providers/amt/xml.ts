import { BmcError } from "../../../contract/bmc-error.ts";

/** An element, as far as answers of WS-Management need it. */
export interface XmlElement {
  /** The name without its prefix, because devices choose prefixes freely. */
  readonly name: string;
  /** Attributes by name without prefix. Namespace declarations are left out. */
  readonly attributes: ReadonlyMap<string, string>;
  readonly children: readonly XmlElement[];
  /** The character data directly inside the element, trimmed. */
  readonly text: string;
}

const MAX_DEPTH = 32;
const MAX_ELEMENTS = 10_000;

const NAME = "[A-Za-z_][\\w.-]*";
const QUALIFIED = `(?:${NAME}:)?${NAME}`;
const ATTRIBUTES = `(?:\\s+${QUALIFIED}\\s*=\\s*(?:"[^"<]*"|'[^'<]*'))*`;
const TAG = new RegExp(`<(/?)(${QUALIFIED})(${ATTRIBUTES})\\s*(/?)>`, "y");
const ATTRIBUTE = new RegExp(`(${QUALIFIED})\\s*=\\s*(?:"([^"]*)"|'([^']*)')`, "g");
const COMMENT = /<!--[\s\S]*?-->/y;
const CDATA = /<!\[CDATA\[([\s\S]*?)\]\]>/y;
const TEXT = /[^<]+/y;
const DECLARATION = /^\s*<\?xml\s[^<>?]*\?>/;

interface OpenElement {
  readonly tag: string;
  readonly element: { name: string; attributes: Map<string, string>; children: XmlElement[]; text: string };
}

/**
 * Parses a document (XML 1.0) of plain elements. Document types are refused, and with them every entity except the five of
 * XML itself. Depth and number of elements are limited, and time grows linearly with the length. Throws a `BmcError` of
 * class `protocol` for text that is not well-formed.
 */
export function parseXml(document: string): XmlElement {
  const text = document.replace(/^\uFEFF/, "").replace(DECLARATION, "");
  const open: OpenElement[] = [];
  let root: XmlElement | undefined;
  let elements = 0;
  let at = 0;
  const match = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found) at = pattern.lastIndex;
    return found;
  };

  while (at < text.length) {
    const inside = open.at(-1);
    const characters = match(TEXT)?.[0];
    if (characters !== undefined) {
      if (inside) inside.element.text += decode(characters);
      else if (characters.trim() !== "") throw malformed("text outside of the root element");
      continue;
    }
    const literal = match(CDATA);
    if (literal && inside) {
      inside.element.text += literal[1] ?? "";
      continue;
    }
    if (match(COMMENT)) continue;
    const found = match(TAG);
    if (!found) throw malformed(`invalid markup at character ${at}`);
    const [, closing, tag = "", attributes = "", empty] = found;
    const name = localName(tag);
    if (closing) {
      if (inside?.tag !== tag || attributes !== "" || empty) throw malformed(`an unexpected end of ${name}`);
      inside.element.text = inside.element.text.trim();
      open.pop();
      continue;
    }
    if (root && !inside) throw malformed("more than one root element");
    elements += 1;
    if (elements > MAX_ELEMENTS || open.length >= MAX_DEPTH)
      throw malformed("more elements than any answer has");
    const element = { name, attributes: readAttributes(attributes), children: [], text: "" };
    if (inside) inside.element.children.push(element);
    else root = element;
    if (!empty) open.push({ tag, element });
  }
  if (!root || open.length > 0) throw malformed(root ? "an end before the root element's" : "no element");
  return root;
}

/** The first child with this name. */
export function childOf(element: XmlElement | undefined, name: string): XmlElement | undefined {
  return element?.children.find((child) => child.name === name);
}

export function childrenOf(element: XmlElement | undefined, name: string): readonly XmlElement[] {
  return element?.children.filter((child) => child.name === name) ?? [];
}

/** The first element with this name at any depth, in document order. The element itself counts. */
export function findElement(element: XmlElement | undefined, name: string): XmlElement | undefined {
  if (!element || element.name === name) return element;
  for (const child of element.children) {
    const found = findElement(child, name);
    if (found) return found;
  }
  return undefined;
}

/** Escapes text for element content and for attributes in double quotes. */
export function escapeXml(text: string): string {
  return text.replace(/[&<>"]/g, (character) => ESCAPES[character] ?? character);
}

const ESCAPES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

function localName(qualified: string): string {
  return qualified.slice(qualified.indexOf(":") + 1);
}

function readAttributes(text: string): Map<string, string> {
  const attributes = new Map<string, string>();
  for (const [, qualified = "", double, single] of text.matchAll(ATTRIBUTE)) {
    if (/^xmlns(:|$)/.test(qualified)) continue;
    const name = localName(qualified);
    if (attributes.has(name)) throw malformed(`an attribute ${name} twice`);
    attributes.set(name, decode(double ?? single ?? ""));
  }
  return attributes;
}

function decode(text: string): string {
  return text.replace(/&([^;&]{0,10})(;?)/g, (_, reference: string, end: string) => {
    const character = end === "" ? undefined : (ENTITIES[reference] ?? characterOf(reference));
    if (character === undefined) throw malformed("an entity that XML does not have");
    return character;
  });
}

function characterOf(reference: string): string | undefined {
  const [, hex, decimal] = /^#(?:x([0-9a-f]{1,6})|(\d{1,7}))$/i.exec(reference) ?? [];
  const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
  const isCharacter = code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
  return isCharacter ? String.fromCodePoint(code) : undefined;
}

function malformed(problem: string): BmcError {
  return new BmcError("protocol", `the answer is not well-formed XML: ${problem}`);
}
