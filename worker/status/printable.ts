import { stripVTControlCharacters } from "node:util";

/**
 * Text of others as it may be shown: colours of terminals are taken out, white space is one space, and what controls a terminal
 * or turns the direction of writing around is a replacement character.
 */
export function printable(text: string): string {
  return stripVTControlCharacters(text)
    .toWellFormed()
    .replace(/[\t\n\r\u2028\u2029]+/g, " ")
    .replace(/[\p{Cc}\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/gu, "\uFFFD");
}

/** As much of a text as is kept and shown. */
export function shortened(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}
