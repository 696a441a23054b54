import { writeText } from "../actions/harness/result/write-text.ts";
import { EXIT_OK } from "../shared/contract/exit-code.ts";
import type { SelfProgram } from "../worker/runtimes/self-program.ts";
import { completeWords } from "./complete-words.ts";
import type { Completion } from "./completion/flag.ts";

/**
 * Runs `pbnj-worker complete <shell> -- <words>` for the completion scripts and ends the process. The last word is at the
 * cursor. The first line of the output says what the shell adds itself (`files`, `folders`, `none`). Every other line holds
 * a word and, except for bash, a tab and its description. After an error nothing is printed, because it would appear in the
 * prompt.
 */
export async function complete([shell, , ...words]: readonly string[], own: SelfProgram): Promise<never> {
  await writeText(process.stdout, await answer(shell, words, own).catch(() => ""));
  process.exit(EXIT_OK);
}

/** Returns what `complete` prints. */
export async function answer(
  shell: string | undefined,
  words: readonly string[],
  own: SelfProgram,
): Promise<string> {
  if (shell === "bash") {
    const { earlier, current, ownLength } = readBashWords(words);
    const { candidates, paths } = await completeWords(earlier, current, { own, described: false });
    const fitting = candidates.map(({ value }) => value).filter((value) => value.startsWith(current));
    return lines(
      paths,
      fitting.map((value) => value.slice(ownLength)),
    );
  }
  const current = words.at(-1) ?? "";
  const { candidates, paths } = await completeWords(words.slice(0, -1), current, { own, described: true });
  return lines(
    paths,
    candidates.map(({ value, description }) =>
      description === "" ? value : `${value}\t${description.replace(/\s+/g, " ")}`,
    ),
  );
}

function lines(paths: Completion["paths"], candidates: readonly string[]): string {
  return `${[paths ?? "none", ...candidates].join("\n")}\n`;
}

/** Bash also splits words at these characters. */
const GLUE = /^[=:]+$/;

/** The words of a command line in bash's completion, joined and unquoted. */
interface BashWords {
  readonly earlier: readonly string[];
  readonly current: string;
  /** The part of `current` that bash treats as separate words, which a candidate must not repeat. */
  readonly ownLength: number;
}

/** Reads `COMP_WORDS`, in which `--mode=so` is `--mode`, `=`, `so`. */
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
