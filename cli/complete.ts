import { writeText } from "../actions/harness/result/write-text.ts";
import { EXIT_OK } from "../shared/contract/exit-code.ts";
import type { SelfProgram } from "../worker/runtimes/self-program.ts";
import { completeWords } from "./complete-words.ts";
import { readBashWords } from "./completion/bash-words.ts";
import type { Completion } from "./completion/candidate.ts";

/**
 * `pbnj-worker complete <shell> -- <words>`, for the completion scripts; the last word is at the cursor. The first line says
 * what the shell adds itself (`files`, `folders`, `none`). Each other line has a word and, except for bash, a tab and its
 * description. Prints nothing on an error, because it would appear in the prompt. Ends the process.
 */
export async function complete([shell, , ...words]: readonly string[], own: SelfProgram): Promise<never> {
  await writeText(process.stdout, await answer(shell, words, own).catch(() => ""));
  process.exit(EXIT_OK);
}

/** What `complete` prints. */
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
