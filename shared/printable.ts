/**
 * Characters that a terminal obeys or a reader does not see: control characters (C0, C1), line and paragraph separators,
 * invisible formatting (zero width, changes of the writing direction, tags, what Unicode reserves for more), variation selectors of the supplementary
 * planes, and lone surrogates.
 */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u2060-\u206F\u{E0000}-\u{E0FFF}]/gu;
const ESCAPE = String.fromCharCode(0x1b);
const BELL = String.fromCharCode(0x07);
/** ECMA-48: control sequences, such as colours, and operating system commands, such as links. */
const ESCAPE_SEQUENCE = new RegExp(
  `${ESCAPE}(?:\\[[0-?]*[ -/]*[@-~]|\\][^${ESCAPE}${BELL}]*(?:${BELL}|${ESCAPE}\\\\))`,
  "g",
);
const WHITE_SPACE = /\s+/g;

/**
 * Text of others that is safe on a terminal, in a log, a page and a message: what cannot be printed is spelled out as JSON does,
 * such as `\u001b`. JSON without spaces around it stays JSON of the same value. Linear in the length of the text.
 */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, spelledOut);
}

/** The same for text of several lines, which stay lines. Tabs between words stay as well. */
export function printableLines(text: string): string {
  return text.replace(UNPRINTABLE, (character) =>
    character === "\n" || character === "\t" ? character : spelledOut(character),
  );
}

/** The same as one line: colours are removed, and white space is one space. Redact first: this may put parts together. */
export function printableLine(text: string): string {
  return printable(text.replace(ESCAPE_SEQUENCE, "").replace(WHITE_SPACE, " "));
}

/** What a program says of itself on stderr: one line. */
export function programLine(program: string, reason: string): string {
  return `${printableLine(`${program}: ${reason}`)}\n`;
}

/** As much of a text as is kept and shown; no character is cut in two. */
export function shortened(text: string, most: number): string {
  if (text.length <= most) return text;
  const end = most - 1;
  const last = text.charCodeAt(end - 1);
  return `${text.slice(0, last >= 0xd800 && last < 0xdc00 ? end - 1 : end)}…`;
}

/** One `\uXXXX` for each half of a character, as in JSON. */
function spelledOut(character: string): string {
  let text = "";
  for (let index = 0; index < character.length; index += 1)
    text += `\\u${character.charCodeAt(index).toString(16).padStart(4, "0")}`;
  return text;
}
