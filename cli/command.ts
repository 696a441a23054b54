import type { Command } from "commander";

/** A command of `pbnj-worker`. Its modules are loaded when it is defined or run, not when it is listed. */
export interface ProgramCommand {
  readonly name: string;
  /** The arguments after the command's name in the help. */
  readonly usage: string;
  /** A summary of one line. */
  readonly summary: string;
  /** Whether the command refuses to start while DRY_RUN is set, because it changes or reads machines and has no dry run. */
  readonly refusesDryRun?: true;
  /** Adds the command's options, arguments and action. */
  define(command: Command): Promise<void>;
}
