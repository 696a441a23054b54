/** Characters as UTF-16 codes, each with the part of the original text that encoded it. */
export interface DecodedText {
  readonly codes: Uint16Array;
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
}

/** Notations to decode. */
export interface Notation {
  /** Escapes of JSON and other languages: `\u0041`, `\x41`, `\n`. */
  readonly escapes?: boolean;
  /** `&#65;`, `&#x41;`, `&amp;` */
  readonly entities?: boolean;
  /** `%41`, as UTF-8. */
  readonly percent?: boolean;
  /** `=41`, as UTF-8, and `=` at the end of a line that continues (RFC 2045 section 6.7). */
  readonly quoted?: boolean;
  /** `+` is a space, as in HTML forms. */
  readonly plus?: boolean;
}

export function plainText(text: string): DecodedText {
  const { length } = text;
  const codes = new Uint16Array(length);
  const starts = new Uint32Array(length);
  const ends = new Uint32Array(length);
  for (let index = 0; index < length; index += 1) {
    codes[index] = text.charCodeAt(index);
    starts[index] = index;
    ends[index] = index + 1;
  }
  return { codes, starts, ends };
}

/** Returns the text without the codes that are not kept. */
export function keepCodes(
  { codes: from, starts: fromStarts, ends: fromEnds }: DecodedText,
  isKept: (code: number, index: number) => boolean,
): DecodedText {
  const codes = new Uint16Array(from.length);
  const starts = new Uint32Array(from.length);
  const ends = new Uint32Array(from.length);
  let size = 0;
  for (let index = 0; index < from.length; index += 1) {
    const code = from[index] ?? 0;
    if (!isKept(code, index)) continue;
    codes[size] = code;
    starts[size] = fromStarts[index] ?? 0;
    ends[size] = fromEnds[index] ?? 0;
    size += 1;
  }
  return { codes: codes.subarray(0, size), starts: starts.subarray(0, size), ends: ends.subarray(0, size) };
}

const BACKSLASH = 0x5c;
const AMPERSAND = 0x26;
const PERCENT = 0x25;
const EQUALS = 0x3d;
const PLUS = 0x2b;
const SPACE = 0x20;

export function decode(text: DecodedText, notation: Notation): DecodedText {
  const { codes: from } = text;
  const codes = new Uint16Array(from.length);
  const starts = new Uint32Array(from.length);
  const ends = new Uint32Array(from.length);
  let size = 0;
  for (let index = 0; index < from.length; ) {
    const { code, length, second } = decodeAt(from, index, notation);
    for (const unit of second === undefined ? [code] : [code, second]) {
      codes[size] = unit;
      starts[size] = text.starts[index] ?? 0;
      ends[size] = text.ends[index + length - 1] ?? 0;
      size += 1;
    }
    index += length;
  }
  return { codes: codes.subarray(0, size), starts: starts.subarray(0, size), ends: ends.subarray(0, size) };
}

/** A character of `length` codes. `second` is the second half of a character beyond U+FFFF. */
interface Decoded {
  readonly code: number;
  readonly length: number;
  readonly second?: number;
}

function decodeAt(codes: Uint16Array, at: number, notation: Notation): Decoded {
  const code = codes[at] ?? 0;
  const found =
    code === BACKSLASH && notation.escapes
      ? decodeEscape(codes, at)
      : code === AMPERSAND && notation.entities
        ? decodeEntity(codes, at)
        : code === PERCENT && notation.percent
          ? decodeBytes(codes, at)
          : code === EQUALS && notation.quoted
            ? decodeQuoted(codes, at)
            : undefined;
  return found ?? { code: code === PLUS && notation.plus ? SPACE : code, length: 1 };
}

const SHORT_ESCAPES = new Map(
  [..."bfnrt"].map((letter, index) => [letter.charCodeAt(0), "\b\f\n\r\t".charCodeAt(index)]),
);
const ESCAPED_AS_THEY_ARE = new Set([..."\\/\"'"].map((character) => character.charCodeAt(0)));

function decodeEscape(codes: Uint16Array, at: number): Decoded | undefined {
  const letter = codes[at + 1] ?? 0;
  if (ESCAPED_AS_THEY_ARE.has(letter)) return { code: letter, length: 2 };
  const short = SHORT_ESCAPES.get(letter);
  if (short !== undefined) return { code: short, length: 2 };
  const digits = letter === 0x75 ? 4 : letter === 0x78 ? 2 : 0;
  const code = digits === 0 ? undefined : number(codes, at + 2, at + 2 + digits, 16);
  return code === undefined ? undefined : { code, length: 2 + digits };
}

/** The HTML names of the characters that encoders name. */
const ENTITY_NAMES =
  "amp& lt< gt> quot\" apos' nbsp  tab\t newline\n excl! num# dollar$ percnt% lpar( rpar) ast* plus+ comma, hyphen- dash- period. sol/ colon: semi; equals= quest? commat@ lsqb[ lbrack[ bsol\\ rsqb] rbrack] hat^ lowbar_ grave` lcub{ lbrace{ verbar| vert| rcub} rbrace}";
const ENTITIES = new Map(
  [...ENTITY_NAMES.matchAll(/([a-z]+)([^a-z])(?: |$)/g)].map(([, name = "", character = ""]) => [
    name,
    character.charCodeAt(0),
  ]),
);
const LONGEST_ENTITY = 12;
const SEMICOLON = 0x3b;
const HASH = 0x23;

function decodeEntity(codes: Uint16Array, at: number): Decoded | undefined {
  let end = at + 1;
  while (end < codes.length && end - at < LONGEST_ENTITY && isEntityCode(codes[end] ?? 0)) end += 1;
  const length = end - at + (codes[end] === SEMICOLON ? 1 : 0);
  if (codes[at + 1] === HASH) {
    const isHex = ((codes[at + 2] ?? 0) | 0x20) === 0x78;
    const point = isHex ? number(codes, at + 3, end, 16) : number(codes, at + 2, end, 10);
    return point === undefined ? undefined : ofPoint(point, length);
  }
  if (codes[end] !== SEMICOLON) return undefined;
  const code = ENTITIES.get(String.fromCharCode(...codes.subarray(at + 1, end)).toLowerCase());
  return code === undefined ? undefined : { code, length };
}

function isEntityCode(code: number): boolean {
  return code === HASH || isBetween(code, 0x30, 0x39) || isBetween(code | 0x20, 0x61, 0x7a);
}

/** The `=` of a line that continues is read as white space, as the end of the line is. */
function decodeQuoted(codes: Uint16Array, at: number): Decoded | undefined {
  const isLast = at + 1 >= codes.length || (codes[at + 1] ?? 0) <= SPACE;
  return isLast ? { code: SPACE, length: 1 } : decodeBytes(codes, at);
}

/** Decodes bytes in hex, each after the same mark. A byte that begins no UTF-8 character is read as Latin-1. */
function decodeBytes(codes: Uint16Array, at: number): Decoded | undefined {
  const first = number(codes, at + 1, at + 3, 16);
  if (first === undefined) return undefined;
  const more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : first >= 0xc0 ? 1 : 0;
  let point = more === 0 ? first : first & (0x3f >> more);
  for (let byte = 1; byte <= more; byte += 1) {
    const from = at + 3 * byte;
    const next = codes[from] === codes[at] ? number(codes, from + 1, from + 3, 16) : undefined;
    if (next === undefined || (next & 0xc0) !== 0x80) return { code: first, length: 3 };
    point = (point << 6) | (next & 0x3f);
  }
  return ofPoint(point, 3 * (more + 1));
}

function ofPoint(point: number, length: number): Decoded | undefined {
  if (point > 0x10ffff) return undefined;
  const text = String.fromCodePoint(point);
  const code = text.charCodeAt(0);
  return text.length === 1 ? { code, length } : { code, length, second: text.charCodeAt(1) };
}

/** Reads the number between `from` and `to`. Returns undefined if there is none. */
function number(codes: Uint16Array, from: number, to: number, base: 10 | 16): number | undefined {
  if (from >= to || to > codes.length) return undefined;
  let value = 0;
  for (let index = from; index < to; index += 1) {
    const code = codes[index] ?? 0;
    const letter = code | 0x20;
    if (isBetween(code, 0x30, 0x39)) value = value * base + code - 0x30;
    else if (base === 16 && isBetween(letter, 0x61, 0x66)) value = value * base + letter - 0x57;
    else return undefined;
  }
  return value;
}

function isBetween(code: number, least: number, most: number): boolean {
  return code >= least && code <= most;
}
