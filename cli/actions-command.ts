import type { Command } from "commander";
import { EXIT_OK } from "../shared/contract/exit-code.ts";
import { suggestion } from "../shared/nearest-name.ts";
import { readWords } from "../shared/unknown-arguments.ts";
import { endWithUsage } from "./usage-problem.ts";

const OUTPUTS = ["table", "json"];

/** `pbnj-worker actions`. */
export function defineActions(command: Command): void {
  command
    .option(
      "--output <table|json>",
      "output format: one line per action, or JSON with the inputs of each",
      "table",
    )
    .allowUnknownOption()
    .allowExcessArguments()
    .action(async ({ output }: { readonly output: string }) => {
      const problems = readWords(command).problems;
      if (!OUTPUTS.includes(output)) {
        problems.push(`--output is not one of ${OUTPUTS.join(", ")}${suggestion(output, OUTPUTS)}`);
      }
      if (problems.length > 0) endWithUsage("pbnj-worker actions", problems);
      const { actionsAsJson, actionsAsTable, loadActions } = await import("./list-actions.ts");
      const { writeText } = await import("../actions/harness/result/write-text.ts");
      const actions = await loadActions();
      await writeText(
        process.stdout,
        `${output === "json" ? actionsAsJson(actions) : actionsAsTable(actions)}\n`,
      );
      process.exit(EXIT_OK);
    });
}
