const WIDE =
  /[\p{sc=Han}\p{sc=Hangul}\p{sc=Hiragana}\p{sc=Katakana}\u3000-\u303e\uff01-\uff60\p{Emoji_Presentation}]/u;
const COMBINING = /\p{M}/u;

/** How many columns of a terminal a text takes. */
export function textWidth(text: string): number {
  let columns = 0;
  for (const character of text) columns += characterWidth(character);
  return columns;
}

/** The beginning of a text that takes at most `most` columns. */
export function fitted(text: string, most: number): string {
  let [columns, length] = [0, 0];
  for (const character of text) {
    columns += characterWidth(character);
    if (columns > most) return text.slice(0, length);
    length += character.length;
  }
  return text;
}

function characterWidth(character: string): number {
  if (COMBINING.test(character)) return 0;
  return WIDE.test(character) ? 2 : 1;
}
