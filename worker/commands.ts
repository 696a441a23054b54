import type { Command } from "commander";
import type { SelfProgram } from "./runtimes/self-program.ts";

/** A command of the worker. Its modules are loaded when it is defined or run, not when it is listed. */
export interface WorkerCommand {
  readonly name: string;
  /** The arguments, shown after the command's name in the help. */
  readonly usage: string;
  /** One line. */
  readonly summary: string;
  /** The command has no dry run, so it refuses to start while DRY_RUN is set. */
  readonly refusesDryRun?: true;
  /** Adds options, arguments and the action. */
  define(command: Command): Promise<void>;
}

export function workerCommands(own: SelfProgram): readonly WorkerCommand[] {
  return [
    {
      name: "start",
      usage: "[options]",
      summary: "poll the tink server for actions and run them until stopped",
      refusesDryRun: true,
      define: async (command) => (await import("./commands/define-commands.ts")).defineStart(command, own),
    },
    {
      name: "serve",
      usage: "[options]",
      summary: "serve PBnJ's API, without a tink server",
      refusesDryRun: true,
      define: async (command) => (await import("./commands/define-commands.ts")).defineServe(command, own),
    },
    {
      name: "run",
      usage: "[options] <template>",
      summary: "run a template here, without a tink server",
      define: async (command) => (await import("./commands/define-commands.ts")).defineRun(command, own),
    },
    {
      name: "doctor",
      usage: "[options]",
      summary: "check everything that a worker needs, and print how to fix problems",
      define: async (command) => (await import("./commands/define-commands.ts")).defineDoctor(command, own),
    },
    {
      name: "policy",
      usage: "test [options] <template>",
      summary: "explain what a policy allows a template to do",
      define: async (command) => (await import("./commands/define-commands.ts")).definePolicy(command, own),
    },
  ];
}
