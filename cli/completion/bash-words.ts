/** Bash ends words at these as well, though they are part of what the program is given. */
const GLUE = /^[=:]+$/;

/** The words of a command line as bash's completion has them, put together and without their quotes. */
export interface BashWords {
  readonly earlier: readonly string[];
  readonly current: string;
  /** How much of `current` bash takes for words of its own, which a candidate must not repeat. */
  readonly ownLength: number;
}

/** From `COMP_WORDS`: `--mode=so` comes as `--mode`, `=`, `so`. */
export function readBashWords(pieces: readonly string[]): BashWords {
  const words: string[] = [];
  let glued = false;
  let ownLength = 0;
  for (const [index, piece] of pieces.entries()) {
    const isGlue = GLUE.test(piece);
    const isLast = index === pieces.length - 1;
    // What comes after a blank is a word of its own; of a flag and of nothing it is known that a blank was there.
    const joins = words.length > 0 && (isGlue || (glued && piece !== "" && !piece.startsWith("--")));
    const text = unquoted(piece);
    const before = joins ? (words.pop() ?? "") : "";
    words.push(before + text);
    if (isLast) ownLength = isGlue ? before.length + text.length : before.length;
    glued = isGlue;
  }
  return { earlier: words.slice(0, -1), current: words.at(-1) ?? "", ownLength };
}

/** A word as the shell would pass it on, also when its last quote is still open. */
function unquoted(word: string): string {
  return word.replace(/\\(.)|["']/g, "$1");
}
