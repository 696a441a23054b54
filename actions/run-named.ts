import { EXIT_OK, exitCodeOf } from "../shared/contract/exit-code.ts";
import { suggestion } from "../shared/nearest-name.ts";
import { catalogue, loadAction } from "./catalogue.ts";
import { writeText } from "./harness/result/write-text.ts";
import { main } from "./harness/run/main.ts";
import type { InventoryFlag } from "./inventory-flags.ts";

/**
 * Runs the program of the action that `argv` names first, with the rest of `argv`, and ends the process. `program` is what
 * precedes the name on the command line, and `inventoryFlags` are those that it has besides the action's own.
 */
export async function runNamed(
  program: string,
  [name = "", ...argv]: readonly string[],
  inventoryFlags: readonly InventoryFlag[] = [],
): Promise<never> {
  if (name === "--help" || name === "-h") {
    const { wrappedNames } = await import("../shared/help-layout.ts");
    await writeText(process.stdout, `${helpText(program)}\n\nActions:\n${wrappedNames(catalogue)}\n`);
    process.exit(EXIT_OK);
  }
  const action = await loadAction(name);
  if (action) return main(action, argv, inventoryFlags);
  await writeText(process.stderr, `${program}: ${problemWith(name)}\n${ACTIONS}\n`);
  process.exit(exitCodeOf("usage"));
}

const ACTIONS = `Actions: ${catalogue.join(", ")}`;

function helpText(program: string): string {
  return `Usage: ${program} <name> [options]

Runs one action in this process: the same input, output,
signals and exit codes as its container.
${program} <name> --help shows its inputs.`;
}

function problemWith(name: string): string {
  if (name === "") return "name an action";
  // A flag may contain a secret.
  if (name.startsWith("-")) return "name an action before its flags";
  return `there is no action ${JSON.stringify(name)}${suggestion(name, catalogue)}`;
}
