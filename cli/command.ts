import type { Command } from "commander";

/** A command of `pbnj-worker`. Its modules are loaded when it is defined or run, not when it is listed. */
export interface ProgramCommand {
  readonly name: string;
  /** Follows the name in the help. */
  readonly usage: string;
  /** One line. */
  readonly summary: string;
  /** It changes or reads machines and has no dry run: it refuses to start while DRY_RUN is set. */
  readonly refusesDryRun?: true;
  /** Adds the command's options, arguments and action. */
  define(command: Command): Promise<void>;
}
