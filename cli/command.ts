import type { Command } from "commander";

/** A command of `pbnj-worker`. What it needs is loaded when it is defined or run, not when it is listed. */
export interface ProgramCommand {
  readonly name: string;
  /** What follows the name, for help. */
  readonly usage: string;
  /** One line. */
  readonly summary: string;
  /** Gives the command its options, arguments and what it does. */
  define(command: Command): Promise<void>;
}
