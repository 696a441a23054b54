import type { Command } from "commander";
import { addConfigOptions } from "../config/options.ts";
import type { OwnProgram } from "../runtime/in-process/own-program.ts";
import { unknownArguments } from "./unknown-arguments.ts";

/** `pbnj-worker start`. */
export function defineStart(command: Command, own: OwnProgram): void {
  addConfigOptions(command)
    // Reported with all other problems.
    .allowUnknownOption()
    .allowExcessArguments()
    .action(async (flags: Record<string, unknown>) => {
      const { start } = await import("./start.ts");
      process.exit(await start(flags, unknownArguments(command, command.args), own));
    });
}
