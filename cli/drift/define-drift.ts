import type { Command } from "commander";
import { readWords } from "../../shared/unknown-arguments.ts";
import { addMachineOptions } from "../machines/select-machines.ts";
import type { DriftFlags } from "./drift-command.ts";

/** `pbnj-worker drift`. */
export function defineDrift(command: Command): void {
  addMachineOptions(
    command
      .description(
        "Compare machines with the desired state in their inventory entries. Changes nothing without --enforce, which changes " +
          "boot device, NTP and BIOS settings, updates firmware, and turns machines on or off.",
      )
      .option("--inventory <file>", "the inventory with the machines"),
  )
    .option(
      "--enforce",
      "change the machines so that they match: each difference once; firmware only if the entry names its image; " +
        "a machine that must be off is shut down, and forced off after 1 minute",
    )
    .option("--concurrency <number>", "machines at a time", "50")
    .option(
      "--output <auto|table|json|yaml>",
      "output format; auto is a table on a terminal, else JSON",
      "auto",
    )
    .allowUnknownOption()
    .allowExcessArguments()
    .action(async (flags: DriftFlags) => {
      const { drift } = await import("./drift-command.ts");
      process.exit(await drift(flags, readWords(command).problems));
    });
}
