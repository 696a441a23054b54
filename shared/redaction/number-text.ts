import { type DecodedText, keepCodes } from "./decoded-text.ts";

const DOT = 0x2e;
const ELLIPSIS = 0x2026;
const SMALL_X = 0x78;
const ZERO = 0x30;
const COMMA = 0x2c;

/** Returns bytes in hex without separators: `53:33`, `0x53, 0x33`, `53-33`. Marks of cut text stay. */
export function hexText(text: DecodedText): DecodedText {
  const { codes } = text;
  return keepCodes(text, (code, index) => isHexPart(code, codes[index - 1] ?? 0, codes[index + 1] ?? 0));
}

function isHexPart(code: number, before: number, after: number): boolean {
  if (code === ZERO) return !isX(after);
  if (isLetterOrDigit(code)) return !isX(code);
  return code === ELLIPSIS || (code === DOT && (before === DOT || after === DOT));
}

/** Returns numbers with a comma after each, in the form of lists of bytes: `[83, 51]`. */
export function decimalText({ codes: from, starts: fromStarts, ends: fromEnds }: DecodedText): DecodedText {
  const codes = new Uint16Array(2 * from.length);
  const starts = new Uint32Array(codes.length);
  const ends = new Uint32Array(codes.length);
  let size = 0;
  for (let index = 0; index < from.length; index += 1) {
    const code = from[index] ?? 0;
    if (!isDigit(code)) continue;
    codes[size] = code;
    starts[size] = fromStarts[index] ?? 0;
    ends[size] = fromEnds[index] ?? 0;
    size += 1;
    if (isDigit(from[index + 1] ?? 0)) continue;
    codes[size] = COMMA;
    starts[size] = fromEnds[index] ?? 0;
    ends[size] = fromEnds[index] ?? 0;
    size += 1;
  }
  return { codes: codes.subarray(0, size), starts: starts.subarray(0, size), ends: ends.subarray(0, size) };
}

function isX(code: number): boolean {
  return (code | 0x20) === SMALL_X;
}

function isDigit(code: number): boolean {
  return code >= ZERO && code <= 0x39;
}

function isLetterOrDigit(code: number): boolean {
  const letter = code | 0x20;
  return isDigit(code) || (letter >= 0x61 && letter <= 0x7a);
}
