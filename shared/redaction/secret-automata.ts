import { plainText } from "./decoded-text.ts";
import { type Form, FormAutomaton } from "./form-automaton.ts";
import { packedText, visibleText } from "./visible-text.ts";

/** Shorter text is everywhere, and no secret. */
const SHORTEST = 4;
/** Shorter text may occur across two words by chance. */
const SHORTEST_PACKED = 8;
const TELLING_CODE = { tellingPart: 8, tellingEnd: 4 };

/** What finds the secrets of one holder, in each way in which text is looked at. */
export interface SecretAutomata {
  /** In text with its spaces. */
  readonly spaced: FormAutomaton;
  /** In text without any space. */
  readonly packed: FormAutomaton;
  /** In text without any space, of both alphabets of base64 in the usual one. */
  readonly base64: FormAutomaton;
  /** In text as `hexText` makes it. */
  readonly hex: FormAutomaton;
  /** In text as `decimalText` makes it. */
  readonly decimal: FormAutomaton;
  /** Whether a `+` may be part of one. */
  readonly haveSpaces: boolean;
}

/** `username` is who the secrets belong to, as HTTP's basic authentication has both (RFC 7617). */
export function secretAutomata(secrets: readonly string[], username?: string): SecretAutomata {
  const texts = secrets.map(readable).filter(({ spaced }) => spaced.length >= SHORTEST);
  const isLong = ({ packed }: Readable) => packed.length >= SHORTEST_PACKED;
  const encoded = texts.flatMap(({ text }) => [
    ...codeForms(text),
    ...(username === undefined ? [] : base64Forms(Buffer.from(`${username}:${text}`))),
  ]);
  return {
    spaced: new FormAutomaton(
      texts.filter((text) => !isLong(text)).map(({ spaced }) => plainForm(spaced, [])),
    ),
    packed: new FormAutomaton([
      ...texts.filter(isLong).map(({ packed, spaced }) => plainForm(packed, wordEnds(spaced))),
      ...(username === undefined ? [] : texts.map(({ text }) => wholeForm(`${username}:${text}`))),
    ]),
    base64: new FormAutomaton(encoded.filter(({ kind }) => kind === "base64")),
    hex: new FormAutomaton(encoded.filter(({ kind }) => kind === "hex")),
    decimal: new FormAutomaton(texts.map(({ text }) => decimalForm(Buffer.from(text)))),
    haveSpaces: texts.some(({ spaced, packed }) => spaced !== packed),
  };
}

interface Readable {
  readonly text: string;
  readonly spaced: string;
  readonly packed: string;
}

function readable(text: string): Readable {
  const visible = visibleText(plainText(text));
  return { text, spaced: ofCodes(visible.codes).trim(), packed: ofCodes(packedText(visible).codes) };
}

function ofCodes(codes: Uint16Array): string {
  return Buffer.from(codes.buffer, codes.byteOffset, codes.byteLength).toString("utf16le");
}

/** The beginning of a plain secret may be an ordinary word, which stays unless it is nearly all. */
function plainForm(text: string, ownLines: readonly number[]): Form {
  const tellingPart = Math.max(12, Math.ceil(text.length * 0.75));
  return { text, tellingPart, tellingEnd: Math.max(8, Math.ceil(text.length / 2)), ownLines };
}

/** Where white space was, as numbers of characters that are none before it. */
function wordEnds(spaced: string): readonly number[] {
  const words = spaced.split(" ");
  return words.map((_, index) => words.slice(0, index + 1).join("").length);
}

/** With the user, whose name alone is nothing to hide. */
function wholeForm(text: string): Form {
  const { packed } = readable(text);
  return { text: packed, tellingPart: packed.length, tellingEnd: packed.length };
}

type CodeForm = Form & { readonly kind: "base64" | "hex" };

function codeForms(text: string): readonly CodeForm[] {
  const bytes = Buffer.from(text);
  // Without the last byte, which is 0 for most, it is the same in both orders of bytes.
  const wide = Buffer.from(text, "utf16le").subarray(0, -1);
  return [
    ...base64Forms(bytes),
    ...base64Forms(wide),
    { text: bytes.toString("hex"), ...TELLING_CODE, kind: "hex" },
    { text: wide.toString("hex"), tellingPart: 14, tellingEnd: 8, kind: "hex" },
  ];
}

function decimalForm(bytes: Buffer): Form {
  const textOf = (part: Buffer) => [...part].map((byte) => `${byte},`).join("");
  const telling = textOf(bytes.subarray(0, SHORTEST)).length;
  return { text: textOf(bytes), tellingPart: telling, tellingEnd: telling };
}

/**
 * What base64 has of some bytes, whatever is encoded before and after them: of three bytes four characters are made, so that
 * there are three ways. Characters that depend on what is beside them are not among them.
 */
function base64Forms(bytes: Buffer): readonly CodeForm[] {
  return [0, 1, 2].flatMap((before) => {
    const whole = Buffer.concat([Buffer.alloc(before), bytes]).toString("base64");
    const text = whole.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
    const isUsed = text.length >= (before === 0 ? SHORTEST + 1 : SHORTEST_PACKED);
    return isUsed ? [{ text, ...TELLING_CODE, kind: "base64" as const }] : [];
  });
}
