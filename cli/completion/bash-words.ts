/** Bash also splits words at these characters. */
const GLUE = /^[=:]+$/;

/** The words of a command line in bash's completion, joined and unquoted. */
export interface BashWords {
  readonly earlier: readonly string[];
  readonly current: string;
  /** The part of `current` that bash treats as separate words, which a candidate must not repeat. */
  readonly ownLength: number;
}

/** From `COMP_WORDS`: `--mode=so` arrives as `--mode`, `=`, `so`. */
export function readBashWords(pieces: readonly string[]): BashWords {
  const words: string[] = [];
  let glued = false;
  let ownLength = 0;
  for (const [index, piece] of pieces.entries()) {
    const isGlue = GLUE.test(piece);
    const isLast = index === pieces.length - 1;
    // A word after a blank is separate; only a flag and an empty word are known to follow a blank.
    const joins = words.length > 0 && (isGlue || (glued && piece !== "" && !piece.startsWith("--")));
    const text = unquoted(piece);
    const before = joins ? (words.pop() ?? "") : "";
    words.push(before + text);
    if (isLast) ownLength = isGlue ? before.length + text.length : before.length;
    glued = isGlue;
  }
  return { earlier: words.slice(0, -1), current: words.at(-1) ?? "", ownLength };
}

/** Unquotes a word like the shell, even if its last quote is still open. */
function unquoted(word: string): string {
  return word.replace(/\\(.)|["']/g, "$1");
}
