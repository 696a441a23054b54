import type { Command } from "commander";
import { addConfigOptions } from "../config/options.ts";
import type { SelfProgram } from "../runtime/self-program.ts";
import { unknownArguments } from "./unknown-arguments.ts";

/** `pbnj-worker start`. */
export function defineStart(command: Command, own: SelfProgram): void {
  addConfigOptions(command)
    // Reported with all other problems.
    .allowUnknownOption()
    .allowExcessArguments()
    .action(async (flags: Record<string, unknown>) => {
      const { start } = await import("./start.ts");
      process.exit(await start(flags, unknownArguments(command, command.args), own));
    });
}
