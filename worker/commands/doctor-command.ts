import type { Command } from "commander";
import { addConfigOptions } from "../config/options.ts";
import { DEFAULT_TIMEOUT } from "../doctor/doctor-options.ts";
import type { SelfProgram } from "../runtime/self-program.ts";
import { unknownArguments } from "./unknown-arguments.ts";

/** `pbnj-worker doctor`. */
export function defineDoctor(command: Command, own: SelfProgram): void {
  command
    .description(
      "Check everything that pbnj-worker start needs, with the same settings, and print what is wrong and how to fix it. " +
        "Changes nothing, takes no work from the tink server, and can run beside a worker.",
    )
    .option("--bmc [machine...]", "log in to the BMCs of these machines, or of all machines, and check them")
    .option(
      "--image <image>",
      "run this action image with --help, as the worker runs actions (without containers: the action of that name)",
    )
    .option("--output <text|json>", "output format: text or JSON", "text")
    .option("--timeout <duration>", "time for each check and for each machine", DEFAULT_TIMEOUT);
  addConfigOptions(command)
    .allowUnknownOption()
    .allowExcessArguments()
    .action(async (flags: Record<string, unknown>) => {
      const { doctor } = await import("../doctor/doctor.ts");
      process.exit(await doctor(flags, unknownArguments(command, command.args), own));
    });
}
