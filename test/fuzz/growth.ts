import type { Target } from "./target.ts";

/** Inputs of one shape, about as long as asked for. */
export interface Shape {
  readonly name: string;
  make(length: number): string;
}

const CHARACTERS = [
  " ",
  "\n",
  "a",
  "0",
  '"',
  "\\",
  "{",
  "[",
  "<",
  "-",
  ",",
  "=",
  ".",
  "/",
  ":",
  "*",
  "%",
  "&",
  "\0",
  "ÿ",
];
const BRACKETS = [
  ["[", "]"],
  ['{"a":', "}"],
  ["{a: ", "}"],
  ["<a>", "</a>"],
  ["(", ")"],
] as const;

/** Within something, fewer characters are worth their time. */
const INNER_CHARACTERS = [" ", "a", '"', "\\"];

/** What an adversary repeats: characters, words of the grammar, words with a running number, words far apart, brackets. */
export function shapesOf({ tokens = [], around = [] }: Target): readonly Shape[] {
  return [
    ...wordShapes([...CHARACTERS, ...tokens]),
    ...tokens.flatMap(spacedShapes),
    ...tokens.map(numberedShape),
    ...BRACKETS.map(nestedShape),
    ...around.flatMap(([before, after]) =>
      [
        ...wordShapes([...INNER_CHARACTERS, ...tokens]),
        ...tokens.map(numberedShape),
        ...BRACKETS.map(nestedShape),
      ].map(({ name, make }) => ({
        name: `${name}, in ${quoted(before)}…${quoted(after)}`,
        make: (length: number) => before + make(length) + after,
      })),
    ),
  ];
}

/** Repeated, with something else in the end: patterns that look for the end of a run go back and forth in it. */
function wordShapes(words: readonly string[]): readonly Shape[] {
  return words.map((word) => ({
    name: `${quoted(word)} repeated`,
    make: (length) => `${word.repeat(Math.ceil(length / word.length))}${word.length === 1 ? "x" : ""}`,
  }));
}

function spacedShapes(token: string): readonly Shape[] {
  return [
    { name: `${quoted(token)} behind spaces`, make: (length) => " ".repeat(length) + token },
    {
      name: `${quoted(token)} and spaces, often`,
      make: (length) => `${token}${" ".repeat(63)}`.repeat(Math.ceil(length / (token.length + 63))),
    },
  ];
}

function numberedShape(token: string): Shape {
  return { name: `${quoted(token)} with numbers`, make: (length) => numbered(token, length) };
}

function nestedShape([open, close]: readonly [string, string]): Shape {
  const depth = (length: number) => Math.ceil(length / (open.length + close.length));
  return {
    name: `${quoted(open)} nested`,
    make: (length) => open.repeat(depth(length)) + close.repeat(depth(length)),
  };
}

function numbered(token: string, length: number): string {
  const parts: string[] = [];
  for (let size = 0, number = 0; size < length; number += 1) {
    const part = token.replace(/[a-z]\w*|$/i, (word) => `${word}${number}`);
    parts.push(part);
    size += part.length;
  }
  return parts.join("");
}

function quoted(text: string): string {
  return JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text);
}

export interface Growth {
  /** Milliseconds of CPU time for the longest input that was tried. */
  readonly ms: number;
  readonly length: number;
  /** Time grows with this power of the length; undefined where it is too short to measure. */
  readonly exponent: number | undefined;
  readonly tooFast: boolean;
}

/** Each a quarter of the next one: in smaller steps, noise looks like growth. */
const PARTS = [64, 16, 4, 1];
const SHORTEST = 1_024;
const LONGEST = 128 * 1_024;
/** Less is lost in the noise of a busy machine, and does no harm. */
const MATERIAL_MS = 50;
const LONG_MS = 400;
/** The exponent of n log n is 1.1 for these lengths; four times the length in sixteen times the time is 2. */
const MOST_EXPONENT = 1.5;
const CONFIRMATIONS = 4;

/** Calls `call` with ever longer inputs of a shape. Time that grows too fast is measured again before it counts. */
export function growthOf(shape: Shape, longest: number, call: (input: string) => void): Growth {
  let last = { length: 0, ms: 0 };
  let exponent: number | undefined;
  for (const length of lengthsUpTo(longest)) {
    const input = flat(shape.make(length));
    const before = last;
    last = { length, ms: cpuMs(() => call(input)) };
    if (last.ms < MATERIAL_MS) continue;
    exponent = exponentOf(before, last);
    if (exponent > MOST_EXPONENT) {
      const shorter = flat(shape.make(before.length));
      // What takes long is measured well by fewer.
      const times = last.ms > LONG_MS ? 2 : CONFIRMATIONS;
      const again = { length: before.length, ms: least(times, () => call(shorter), before.ms) };
      last = { length, ms: least(times, () => call(input), last.ms) };
      exponent = last.ms < MATERIAL_MS ? undefined : exponentOf(again, last);
      if (exponent !== undefined && exponent > MOST_EXPONENT) return { ...last, exponent, tooFast: true };
    }
    if (last.ms >= LONG_MS) break;
  }
  return { ...last, exponent, tooFast: false };
}

function lengthsUpTo(longest: number): readonly number[] {
  const last = Math.min(longest, LONGEST);
  return PARTS.map((part) => Math.ceil(last / part)).filter((length) => length >= Math.min(SHORTEST, last));
}

/** Without the time it takes to put its pieces together. */
function flat(text: string): string {
  return Buffer.from(text, "utf16le").toString("utf16le");
}

function exponentOf(
  shorter: { readonly length: number; readonly ms: number },
  longer: { readonly length: number; readonly ms: number },
): number {
  if (shorter.length === 0) return 1;
  return Math.log(longer.ms / Math.max(shorter.ms, 0.01)) / Math.log(longer.length / shorter.length);
}

/** CPU time of this thread: other processes do not count. */
export function cpuMs(work: () => void): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}

function least(times: number, work: () => void, first: number): number {
  let ms = first;
  for (let time = 1; time < times; time += 1) ms = Math.min(ms, cpuMs(work));
  return ms;
}
