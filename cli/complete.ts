import { writeText } from "../actions/harness/result/write-text.ts";
import { EXIT_OK } from "../shared/contract/exit-code.ts";
import type { SelfProgram } from "../worker/runtime/self-program.ts";
import { completeWords } from "./complete-words.ts";
import { readBashWords } from "./completion/bash-words.ts";
import type { Completion } from "./completion/candidate.ts";

/**
 * `pbnj-worker complete <shell> -- <words>`, for the completion scripts; the last word is the one that the cursor is in. The
 * first line says what the shell adds by itself (`files`, `folders`, `none`), each other one is a word and, for all but bash, a
 * tab and its description where it has one. Whatever goes wrong, nothing is printed: it would stand in somebody's prompt. Ends the process.
 */
export async function complete([shell, , ...words]: readonly string[], own: SelfProgram): Promise<never> {
  await writeText(process.stdout, await answer(shell, words, own).catch(() => ""));
  process.exit(EXIT_OK);
}

async function answer(
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
