import { isKnownWord } from "../recording/allow-list.ts";
import { plainText } from "./decoded-text.ts";
import { type Form, FormAutomaton } from "./form-automaton.ts";
import { packedText, visibleText } from "./visible-text.ts";

/** The length of the shortest text that is searched for, because shorter text occurs everywhere. */
const SHORTEST = 4;
/** The length of the shortest text that is searched for without spaces. Shorter text may occur across two words by chance. */
const SHORTEST_PACKED = 8;
/** Generated passwords have more than letters, and are not looked up. */
const ONLY_LETTERS = /^[a-z]+$/i;
const TELLING_CODE = { tellingPart: 8, tellingEnd: 4 };

/** Finds the secrets of one holder with one automaton per form of text. */
export interface SecretAutomata {
  /** For text with its spaces. */
  readonly spaced: FormAutomaton;
  /** For secrets that are known words: for text with its spaces, in which only values count. */
  readonly words: FormAutomaton;
  /** For text without spaces. */
  readonly packed: FormAutomaton;
  /** For base64 without spaces, in the standard alphabet. */
  readonly base64: FormAutomaton;
  /** For the result of `hexText`. */
  readonly hex: FormAutomaton;
  /** For the result of `decimalText`. */
  readonly decimal: FormAutomaton;
  /** Whether a secret contains white space, which forms encode as `+`. */
  readonly haveSpaces: boolean;
}

/**
 * Builds the automata. `username` is searched for together with a secret, because HTTP basic authentication sends both (RFC
 * 7617).
 */
export function secretAutomata(secrets: readonly string[], username?: string): SecretAutomata {
  const texts = secrets.map(readable).filter(({ spaced }) => spaced.length >= SHORTEST);
  const [words, others] = partition(texts, ({ spaced }) => ONLY_LETTERS.test(spaced) && isKnownWord(spaced));
  const [long, short] = partition(others, ({ packed }) => packed.length >= SHORTEST_PACKED);
  const encoded = texts.flatMap(({ text }) => [
    ...codeForms(text),
    ...(username === undefined ? [] : base64Forms(Buffer.from(`${username}:${text}`))),
  ]);
  return {
    spaced: new FormAutomaton(short.map(({ spaced }) => plainForm(spaced, []))),
    words: new FormAutomaton(words.map(({ text }) => wholeForm(text))),
    packed: new FormAutomaton([
      ...long.map(({ packed, spaced }) => plainForm(packed, wordEnds(spaced))),
      ...(username === undefined ? [] : texts.map(({ text }) => wholeForm(`${username}:${text}`))),
    ]),
    base64: new FormAutomaton(encoded.filter(({ kind }) => kind === "base64")),
    hex: new FormAutomaton(encoded.filter(({ kind }) => kind === "hex")),
    decimal: new FormAutomaton(texts.map(({ text }) => decimalForm(Buffer.from(text)))),
    haveSpaces: texts.some(({ spaced, packed }) => spaced !== packed),
  };
}

function partition<T>(all: readonly T[], isFirst: (one: T) => boolean): readonly [T[], T[]] {
  return [all.filter(isFirst), all.filter((one) => !isFirst(one))];
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

/**
 * Makes the form of a plain secret. Its beginning may be an ordinary word, so it is only removed if it is most of the
 * secret.
 */
function plainForm(text: string, ownLines: readonly number[]): Form {
  const tellingPart = Math.max(12, Math.ceil(text.length * 0.75));
  return { text, tellingPart, tellingEnd: Math.max(8, Math.ceil(text.length / 2)), ownLines };
}

/** Returns the positions of white space, counted in the other characters before it. */
function wordEnds(spaced: string): readonly number[] {
  const words = spaced.split(" ");
  return words.map((_, index) => words.slice(0, index + 1).join("").length);
}

/** Makes a form of which a part reveals nothing, such as one that begins with the user's name: only the whole form counts. */
function wholeForm(text: string): Form {
  const { packed } = readable(text);
  return { text: packed, tellingPart: packed.length, tellingEnd: packed.length };
}

type CodeForm = Form & { readonly kind: "base64" | "hex" };

function codeForms(text: string): readonly CodeForm[] {
  const bytes = Buffer.from(text);
  // Without the last byte, which is usually 0, both byte orders contain the same bytes.
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
 * Returns the base64 forms of bytes within longer data. Three bytes become four characters, so there are three alignments.
 * Characters that also depend on neighbouring bytes are left out.
 */
function base64Forms(bytes: Buffer): readonly CodeForm[] {
  return [0, 1, 2].flatMap((before) => {
    const whole = Buffer.concat([Buffer.alloc(before), bytes]).toString("base64");
    const text = whole.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
    const isUsed = text.length >= (before === 0 ? SHORTEST + 1 : SHORTEST_PACKED);
    return isUsed ? [{ text, ...TELLING_CODE, kind: "base64" as const }] : [];
  });
}
