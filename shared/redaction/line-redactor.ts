import { type DecodedText, decode, type Notation, plainText } from "./decoded-text.ts";
import type { FormAutomaton } from "./form-automaton.ts";
import { decimalText, hexText } from "./number-text.ts";
import type { SecretAutomata } from "./secret-automata.ts";
import { hasEscapes, packedText, visibleText } from "./visible-text.ts";

const REDACTED = "[redacted]";
const AUTOMATA = ["spaced", "words", "packed", "base64", "hex", "decimal"] as const;

type States = Readonly<Record<(typeof AUTOMATA)[number], number>>;

const AT_ROOT: States = { spaced: 0, words: 0, packed: 0, base64: 0, hex: 0, decimal: 0 };

/** A way to decode text, and a pattern for texts that it changes. */
interface Reading {
  readonly notations: readonly Notation[];
  readonly trigger: RegExp;
}

const ALL: Notation = { escapes: true, entities: true, percent: true };
const ESCAPES: Reading = { notations: [{ escapes: true }], trigger: /\\/ };
const ENTITIES: Reading = { notations: [{ entities: true }], trigger: /&/ };
const PERCENT: Reading = { notations: [{ percent: true }], trigger: /%/ };
const QUOTED: Reading = { notations: [{ quoted: true }], trigger: /=/ };
const FORM: Reading = { notations: [{ percent: true, plus: true }], trigger: /\+/ };
/** Text that is encoded twice, in one notation or two. */
const TWICE: Reading = { notations: [ALL, ALL], trigger: /[\\&%]/ };

/** Removes secrets from text that arrives line by line. */
export interface LineRedactor {
  /** Redacts a line. `wasCut` says that the line was longer, and that the missing part may be the rest of a secret. */
  take(line: string, wasCut?: boolean): string;
  /** Records that lines are missing here. */
  gap(): void;
}

/**
 * Removes secrets from text, however the text is encoded. A secret may be spread over lines: its part on a line is removed
 * as soon as it reveals enough. Linear in the length of the text.
 */
export class SecretLineRedactor implements LineRedactor {
  readonly #automata: SecretAutomata;
  readonly #readings: readonly Reading[];
  #plain = AT_ROOT;
  readonly #states = new Map<Reading, States>();

  constructor(automata: SecretAutomata) {
    this.#automata = automata;
    this.#readings = [ESCAPES, ENTITIES, PERCENT, QUOTED, TWICE, ...(automata.haveSpaces ? [FORM] : [])];
  }

  gap(): void {
    this.#plain = AT_ROOT;
    this.#states.clear();
  }

  /** Whether this redactor has seen the same beginnings of secrets as another. */
  isAt(other: SecretLineRedactor): boolean {
    return isSame(this.#plain, other.#plain) && this.#states.size === 0 && other.#states.size === 0;
  }

  continueFrom(other: SecretLineRedactor): void {
    this.#plain = other.#plain;
    this.#states.clear();
    for (const [reading, states] of other.#states) this.#states.set(reading, states);
  }

  take(line: string, wasCut = false): string {
    const found = new Intervals(line);
    this.find(line, wasCut, found);
    return found.redacted();
  }

  find(line: string, wasCut: boolean, found: Intervals): void {
    const text = plainText(line);
    const before = this.#plain;
    this.#plain = this.#scan(text, before, wasCut, found);
    for (const reading of this.#readings) {
      const state = this.#states.get(reading) ?? before;
      if (reading.trigger.test(line) || !isSame(state, before)) {
        const decoded = reading.notations.reduce(decode, text);
        const after = this.#scan(decoded, state, wasCut, found);
        if (isSame(after, this.#plain)) this.#states.delete(reading);
        else this.#states.set(reading, after);
      } else this.#states.delete(reading);
    }
  }

  /** Returns the states at the end of the line, whose end is a space. */
  #scan(text: DecodedText, states: States, wasCut: boolean, found: Intervals): States {
    if (hasEscapes(text)) this.#scanVisible(visibleText(text, false), states, wasCut, found);
    return this.#scanVisible(visibleText(text), states, wasCut, found);
  }

  #scanVisible(visible: DecodedText, states: States, wasCut: boolean, found: Intervals): States {
    const packed = packedText(visible);
    const { spaced, words, packed: plain, base64, hex, decimal } = this.#automata;
    if (!words.isEmpty) scanWords(words, visible, found);
    const from = (
      automaton: FormAutomaton,
      state: number,
      read: DecodedText,
      codes = read.codes,
      edges = false,
    ) => scanWith(automaton, state, { read, codes, edges, wasCut }, found);
    const endOfLine = from(spaced, states.spaced, visible);
    return {
      spaced:
        endOfLine === 0
          ? 0
          : spaced.scan(
              END_OF_LINE,
              endOfLine,
              () => false,
              () => undefined,
            ),
      // A word is complete on its line.
      words: 0,
      packed: from(plain, states.packed, packed),
      base64: base64.isEmpty ? 0 : from(base64, states.base64, packed, packed.codes.map(usualAlphabet), true),
      hex: hex.isEmpty ? 0 : from(hex, states.hex, hexText(packed)),
      decimal: decimal.isEmpty ? 0 : from(decimal, states.decimal, decimalText(visible)),
    };
  }
}

/**
 * Redacts one of several texts that are read together, such as stdout and stderr: removes secrets within the text, and
 * secrets that are spread over all of them.
 */
export class JoinedLineRedactor implements LineRedactor {
  readonly #own: SecretLineRedactor;
  readonly #joint: SecretLineRedactor;

  constructor(automata: SecretAutomata, joint: SecretLineRedactor) {
    this.#own = new SecretLineRedactor(automata);
    this.#joint = joint;
  }

  gap(): void {
    this.#own.gap();
    this.#joint.gap();
  }

  take(line: string, wasCut = false): string {
    const found = new Intervals(line);
    const isAlike = this.#own.isAt(this.#joint);
    this.#own.find(line, wasCut, found);
    // In the same state, both would find the same.
    if (isAlike) this.#joint.continueFrom(this.#own);
    else this.#joint.find(line, wasCut, found);
    return found.redacted();
  }
}

const END_OF_LINE = Uint16Array.of(0x20);

function isSame(one: States, other: States): boolean {
  return AUTOMATA.every((name) => one[name] === other[name]);
}

interface Scanned {
  readonly read: DecodedText;
  /** The text's codes in the automaton's alphabet. */
  readonly codes: Uint16Array;
  /** Whether a character beside a match may also encode a part of the secret. */
  readonly edges: boolean;
  readonly wasCut: boolean;
}

function scanWith(
  automaton: FormAutomaton,
  state: number,
  { read, codes, edges, wasCut }: Scanned,
  found: Intervals,
): number {
  if (automaton.isEmpty) return state;
  const mark = (last: number, length: number) => {
    let first = Math.max(0, last - length + 1);
    let end = last;
    if (edges) {
      const isBeside = (index: number) => read.ends[index - 1] === read.starts[index];
      if (first > 0 && isBeside(first) && isBase64(codes[first - 1] ?? 0)) first -= 1;
      if (isBeside(end + 1) && isBase64(codes[end + 1] ?? 0)) end += 1;
      while (isBeside(end + 1) && codes[end + 1] === EQUALS) end += 1;
    }
    if (end >= 0) found.add(read.starts[first] ?? 0, read.ends[end] ?? 0);
  };
  const isCut = (index: number) =>
    codes[index] === ELLIPSIS ||
    (codes[index] === DOT && codes[index + 1] === DOT && codes[index + 2] === DOT);
  const after = automaton.scan(codes, state, isCut, mark);
  const telling = automaton.tellingEnd(after, wasCut);
  if (telling > 0) mark(codes.length - 1, telling);
  return after;
}

/** Finds the secrets that are known words, where they stand as a value. */
function scanWords(words: FormAutomaton, { codes, starts, ends }: DecodedText, found: Intervals): void {
  const mark = (last: number, length: number) => {
    const first = last - length + 1;
    if (first >= 0 && isValue(codes, first, last)) found.add(starts[first] ?? 0, ends[last] ?? 0);
  };
  words.scan(codes, 0, () => false, mark);
}

/** How many characters before a word tell whether it is a value. */
const MOST_BEFORE = 64;
const DELIMITED_BEFORE = /(?:^|["'`“‘=:(<>[{,;|&?@/\\]) ?$/;
const DELIMITED_AFTER = /^ ?(?:$|[)<>\]},;|&@/\\]|["'`”’](?! ?:))/;
/** A flag, an assignment without a space, or the name of a secret, also with a number as in `user set password 2`. */
const NAMED_BEFORE =
  /(?:(?:^| )--?[\w-]+ |(?:^| )-\w|[^ ][=:]|(?:pass(?:w(?:or)?d|phrase)?|pwd|secret|token)(?: ?[=:])? (?:\d+ )?)$/i;
const CONTINUES = /^[\p{L}\p{N}_-]/u;

/**
 * Whether a word in a text is a value: it stands between quotes or delimiters, is the whole text, or follows a flag, an
 * assignment or a name such as `password`. Elsewhere it is prose, in which it tells nothing; a gap in a known sentence would
 * tell the word.
 */
function isValue(codes: Uint16Array, first: number, last: number): boolean {
  const before = String.fromCharCode(...codes.subarray(Math.max(0, first - MOST_BEFORE), first));
  const after = String.fromCharCode(...codes.subarray(last + 1, last + 4));
  const isNamed = NAMED_BEFORE.test(before) && !CONTINUES.test(after);
  return isNamed || (DELIMITED_BEFORE.test(before) && DELIMITED_AFTER.test(after));
}

const ELLIPSIS = 0x2026;
const DOT = 0x2e;
const EQUALS = 0x3d;

function isBase64(code: number): boolean {
  const letter = code | 0x20;
  return (
    (letter >= 0x61 && letter <= 0x7a) || (code >= 0x30 && code <= 0x39) || code === 0x2b || code === 0x2f
  );
}

/** Converts a code to the standard alphabet (RFC 4648 section 5 has `-` and `_` instead of `+` and `/`). */
function usualAlphabet(code: number): number {
  return code === 0x2d ? 0x2b : code === 0x5f ? 0x2f : code;
}

/** The parts of a text to remove. */
class Intervals {
  readonly #text: string;
  readonly #found: { start: number; end: number }[] = [];

  constructor(text: string) {
    this.#text = text;
  }

  add(start: number, end: number): void {
    const last = this.#found.at(-1);
    // One reading reports its intervals in order.
    if (last && start >= last.start && start <= last.end) last.end = Math.max(last.end, end);
    else this.#found.push({ start: this.#escapeStart(start), end });
  }

  redacted(): string {
    if (this.#found.length === 0) return this.#text;
    let kept = "";
    let at = 0;
    let pending: { start: number; end: number } | undefined;
    for (const interval of this.#found.toSorted((one, other) => one.start - other.start)) {
      if (pending && interval.start <= pending.end) {
        pending.end = Math.max(pending.end, interval.end);
        continue;
      }
      if (pending) {
        kept += this.#text.slice(at, pending.start) + REDACTED;
        at = pending.end;
      }
      pending = { ...interval };
    }
    return (
      kept + (pending ? this.#text.slice(at, pending.start) + REDACTED + this.#text.slice(pending.end) : "")
    );
  }

  /** Also removes a backslash that escapes the removed text, so that JSON stays JSON. */
  #escapeStart(start: number): number {
    let first = start;
    while (this.#text.charCodeAt(first - 1) === 0x5c) first -= 1;
    return (start - first) % 2 === 1 ? start - 1 : start;
  }
}
