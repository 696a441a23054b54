import { type DecodedText, keepCodes } from "./decoded-text.ts";

const ESCAPE = 0x1b;
const BELL = 0x07;
const BACKSLASH = 0x5c;
/** What follows an escape where a control sequence begins (ECMA-48). */
const CONTROL_SEQUENCE = 0x5b;
/** What follows an escape where a string begins: device control, start of string, operating system, privacy, application. */
const STRINGS: ReadonlySet<number> = new Set([0x50, 0x58, 0x5d, 0x5e, 0x5f]);
/** Added to the code after an escape, this gives the single code with the same meaning (C1 in ECMA-48). */
const C1 = 0x40;
const STRING_END = 0x5c + C1;
const SPACE = 0x20;

/** Whether a text contains a code that may begin an escape sequence. */
export function hasEscapes({ codes }: DecodedText): boolean {
  return codes.some((code) => code === ESCAPE || isBetween(code, 0x80, 0x9f));
}

/**
 * Returns the visible part of a text: white space and control characters become one space, and invisible characters are
 * removed. Escape sequences are invisible if a terminal interprets them (`obeyed`), and text if they are spelled out.
 */
export function visibleText(
  { codes: from, starts: fromStarts, ends: fromEnds }: DecodedText,
  obeyed = true,
): DecodedText {
  const codes = new Uint16Array(from.length);
  const starts = new Uint32Array(from.length);
  const ends = new Uint32Array(from.length);
  let size = 0;
  for (let index = 0; index < from.length; index += 1) {
    const code = from[index] ?? 0;
    const sequenceEnd = obeyed ? escapeSequenceEnd(from, index) : undefined;
    if (sequenceEnd !== undefined) {
      index = sequenceEnd;
      continue;
    }
    if (isInvisible(code, from[index + 1] ?? 0)) {
      if (code === TAGS) index += 1;
      continue;
    }
    const isBlank = isSpace(code);
    if (isBlank && size > 0 && codes[size - 1] === SPACE) {
      ends[size - 1] = fromEnds[index] ?? 0;
      continue;
    }
    codes[size] = isBlank ? SPACE : code;
    starts[size] = fromStarts[index] ?? 0;
    ends[size] = fromEnds[index] ?? 0;
    size += 1;
  }
  return { codes: codes.subarray(0, size), starts: starts.subarray(0, size), ends: ends.subarray(0, size) };
}

/** Removes spaces, so that secrets in wrapped text are found. */
export function packedText(text: DecodedText): DecodedText {
  return keepCodes(text, (code) => code !== SPACE);
}

/**
 * Returns the index of the last code of an escape sequence that begins at `at`, or undefined if none begins there or it does
 * not end.
 */
function escapeSequenceEnd(codes: Uint16Array, at: number): number | undefined {
  const code = codes[at] ?? 0;
  if (isBetween(code, 0x80, 0x9f)) return controlEnd(codes, at, code - C1);
  if (code !== ESCAPE) return undefined;
  const kind = codes[at + 1] ?? 0;
  if (isBetween(kind, 0x40, 0x5f)) return controlEnd(codes, at + 1, kind);
  let end = at + 1;
  while (isBetween(codes[end], 0x20, 0x2f)) end += 1;
  return isBetween(codes[end], 0x30, 0x7e) ? end : undefined;
}

/**
 * Returns the index of the last code of a control function of this kind. Its first code, or the second one after an escape,
 * is at `at`.
 */
function controlEnd(codes: Uint16Array, at: number, kind: number): number | undefined {
  let end = at + 1;
  if (kind === CONTROL_SEQUENCE) {
    while (isBetween(codes[end], 0x20, 0x3f)) end += 1;
    return isBetween(codes[end], 0x40, 0x7e) ? end : undefined;
  }
  if (!STRINGS.has(kind)) return at;
  while (end < codes.length && !isStringEnd(codes[end] ?? 0)) end += 1;
  if (codes[end] === ESCAPE) return codes[end + 1] === BACKSLASH ? end + 1 : undefined;
  return end < codes.length ? end : undefined;
}

function isStringEnd(code: number): boolean {
  return code === BELL || code === ESCAPE || code === STRING_END;
}

function isBetween(code: number | undefined, least: number, most: number): boolean {
  return code !== undefined && code >= least && code <= most;
}

/** The first half of the characters from U+E0000 to U+E03FF. */
const TAGS = 0xdb40;

function isInvisible(code: number, next: number): boolean {
  if (code < 0xad) return false;
  return (
    code === 0xad ||
    code === 0x61c ||
    code === 0x180e ||
    (code >= 0x200b && code <= 0x200f) ||
    (code >= 0x202a && code <= 0x202e) ||
    (code >= 0x2060 && code <= 0x206f) ||
    code === 0xfeff ||
    (code >= 0xfff9 && code <= 0xfffb) ||
    (code === TAGS && next >= 0xdc00 && next <= 0xdfff)
  );
}

function isSpace(code: number): boolean {
  if (code <= 0x20) return true;
  if (code < 0x7f) return false;
  return (
    code <= 0xa0 ||
    code === 0x1680 ||
    (code >= 0x2000 && code <= 0x200a) ||
    code === 0x2028 ||
    code === 0x2029 ||
    code === 0x202f ||
    code === 0x205f ||
    code === 0x3000
  );
}
