/**
 * Characters that a terminal interprets or a reader does not see: control characters (C0, C1), line and paragraph
 * separators, invisible formatting (zero width, changes of the writing direction, tags, code points that Unicode reserves
 * for more), variation selectors of the supplementary planes, and lone surrogates.
 */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u2060-\u206F\u{E0000}-\u{E0FFF}]/gu;
const ESCAPE = String.fromCharCode(0x1b);
const BELL = String.fromCharCode(0x07);
/** Escape sequences of ECMA-48: control sequences, such as colours, and operating system commands, such as links. */
const ESCAPE_SEQUENCE = new RegExp(
  `${ESCAPE}(?:\\[[0-?]*[ -/]*[@-~]|\\][^${ESCAPE}${BELL}]*(?:${BELL}|${ESCAPE}\\\\))`,
  "g",
);
const WHITE_SPACE = /\s+/g;

/**
 * Makes untrusted text safe for a terminal, a log, a page or a message: characters that cannot be printed are escaped as in
 * JSON, such as `\u001b`. JSON without spaces around it stays JSON of the same value. Linear in the length of the text.
 */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, spelledOut);
}

/** Makes untrusted text printable, but keeps line ends and tabs. */
export function printableLines(text: string): string {
  return text.replace(UNPRINTABLE, (character) =>
    character === "\n" || character === "\t" ? character : spelledOut(character),
  );
}

/** Makes untrusted text one printable line without colours; white space becomes one space. Redact first: parts may join. */
export function printableLine(text: string): string {
  return printable(text.replace(ESCAPE_SEQUENCE, "").replace(WHITE_SPACE, " "));
}

/** Formats one line for stderr that begins with the program's name. */
export function programLine(program: string, reason: string): string {
  return `${printableLine(`${program}: ${reason}`)}\n`;
}

/** Cuts a text to at most `most` UTF-16 code units without splitting a character. */
export function shortened(text: string, most: number): string {
  if (text.length <= most) return text;
  const end = most - 1;
  const last = text.charCodeAt(end - 1);
  return `${text.slice(0, last >= 0xd800 && last < 0xdc00 ? end - 1 : end)}…`;
}

/** Spells out a character as in JSON, with one `\uXXXX` per UTF-16 code unit. */
function spelledOut(character: string): string {
  let text = "";
  for (let index = 0; index < character.length; index += 1)
    text += `\\u${character.charCodeAt(index).toString(16).padStart(4, "0")}`;
  return text;
}
