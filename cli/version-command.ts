import type { Command } from "commander";
import { writeText } from "../actions/harness/result/write-text.ts";
import { EXIT_OK } from "../shared/contract/exit-code.ts";
import { readWords } from "../shared/unknown-arguments.ts";
import { endWithUsage } from "./usage-problem.ts";
import { versionLine } from "./version.ts";

/** `pbnj-worker version`. */
export function defineVersion(command: Command): void {
  command
    .usage("")
    .allowUnknownOption()
    .allowExcessArguments()
    .action(async () => {
      const { problems } = readWords(command, { expected: "version takes none" });
      if (problems.length > 0) endWithUsage("pbnj-worker version", problems);
      await writeText(process.stdout, `${await versionLine()}\n`);
      process.exit(EXIT_OK);
    });
}
