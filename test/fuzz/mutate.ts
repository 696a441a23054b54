import type { Target } from "./target.ts";

/** Gives numbers from 0 to below 1. */
export type Dice = () => number;

const MOST_CHANGES = 8;
const LONGEST_REPETITION = 4_000;
const COMMON = [
  " ",
  "\n",
  "\r\n",
  "\t",
  "\0",
  '"',
  "'",
  "\\",
  "{",
  "}",
  "[",
  "]",
  "<",
  ">",
  "=",
  ",",
  ":",
  "%",
];
const ODD = [
  "\ud800",
  "\u2028",
  "\u202e",
  "\ufeff",
  "\u001b[31m",
  "ÿ",
  "\u0080",
  "😀",
  "é",
  "__proto__",
  "-1",
  "1e999",
];

/** An input for a target: one of its seeds, or a soup of its tokens, changed in a few places. */
export function mutated({ seeds, tokens = [] }: Target, dice: Dice): string {
  const pick = <T>(from: readonly T[]): T | undefined => from[Math.floor(dice() * from.length)];
  const words = [...tokens, ...tokens, ...COMMON, ...ODD];
  const upTo = (most: number) => Math.floor(dice() * (most + 1));
  const soup = () => Array.from({ length: upTo(30) }, () => pick(words)).join("");
  let text = (dice() < 0.8 ? pick(seeds) : soup()) ?? "";
  for (let changes = upTo(MOST_CHANGES); changes > 0; changes -= 1) {
    const at = upTo(text.length);
    const end = Math.min(text.length, at + upTo(dice() < 0.5 ? 4 : text.length));
    const slice = text.slice(at, end);
    switch (Math.floor(dice() * 7)) {
      case 0:
        text = text.slice(0, at) + text.slice(end);
        break;
      case 1:
        text = text.slice(0, at) + (pick(words) ?? "") + text.slice(at);
        break;
      case 2:
        text =
          text.slice(0, at) + String.fromCharCode(upTo(dice() < 0.8 ? 0xff : 0xffff)) + text.slice(at + 1);
        break;
      case 3: {
        const times = Math.min(1 + upTo(200), Math.ceil(LONGEST_REPETITION / Math.max(slice.length, 1)));
        text = text.slice(0, end) + slice.repeat(times) + text.slice(end);
        break;
      }
      case 4:
        text = text.slice(0, at) + slice + slice + text.slice(end);
        break;
      case 5:
        text = text.slice(0, at) + (pick(seeds) ?? "").slice(upTo(20));
        break;
      default:
        text = text.slice(0, at) + soup() + text.slice(end);
    }
  }
  return text;
}

const MOST_ATTEMPTS = 300;

/** A shorter input for which `fails` still holds. */
export function shrunk(input: string, fails: (input: string) => boolean): string {
  let text = input;
  let attempts = 0;
  for (let part = Math.ceil(text.length / 2); part >= 1; part = Math.floor(part / 2)) {
    for (let at = 0; at < text.length && attempts < MOST_ATTEMPTS; attempts += 1) {
      const shorter = text.slice(0, at) + text.slice(at + part);
      if (shorter.length < text.length && fails(shorter)) text = shorter;
      else at += part;
    }
  }
  return text;
}
