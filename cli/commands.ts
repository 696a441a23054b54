import { workerCommands } from "../worker/commands.ts";
import type { SelfProgram } from "../worker/runtimes/self-program.ts";
import type { ProgramCommand } from "./command.ts";

/** Every command, in the order of the help. */
export function programCommands(own: SelfProgram): readonly ProgramCommand[] {
  return [
    ...workerCommands(own),
    {
      name: "action",
      usage: "<name> [options]",
      summary: "run one action here, without a container",
      // The action parses its own command line, so the program runs it before commander.
      define: async () => undefined,
    },
    {
      name: "actions",
      usage: "[options]",
      summary: "list the actions, one per line",
      define: async (command) => (await import("./actions-command.ts")).defineActions(command),
    },
    {
      name: "machines",
      usage: "[options]",
      summary: "list the machines of an inventory, with their labels",
      define: async (command) => (await import("./machines/machines-command.ts")).defineMachines(command),
    },
    {
      name: "inventory",
      usage: "<pin|import> [options]",
      summary: "record the BMCs' fingerprints, or write an inventory from other formats",
      refusesDryRun: true,
      define: async (command) => (await import("./inventory/inventory-command.ts")).defineInventory(command),
    },
    {
      name: "discover",
      usage: "[options] [address...]",
      summary: "find BMCs on the network, and write an inventory",
      refusesDryRun: true,
      define: async (command) => (await import("./discover/define-discover.ts")).defineDiscover(command),
    },
    {
      name: "drift",
      usage: "[options]",
      summary: "compare machines with the desired state in the inventory, and correct them",
      refusesDryRun: true,
      define: async (command) => (await import("./drift/define-drift.ts")).defineDrift(command),
    },
    {
      name: "record",
      usage: "[options] <machine | flags>",
      summary: "record a BMC for a bug report, without names or passwords",
      refusesDryRun: true,
      define: async (command) => (await import("./record/record-command.ts")).defineRecord(command),
    },
    {
      name: "lab",
      usage: "[options]",
      summary: "start simulated machines and a tink server",
      refusesDryRun: true,
      define: async (command) => (await import("./lab/lab-command.ts")).defineLab(command, own),
    },
    {
      name: "completion",
      usage: "<shell>",
      summary: "print the completion script of bash, zsh or fish",
      define: async (command) => (await import("./completion-command.ts")).defineCompletion(command),
    },
    {
      name: "version",
      usage: "",
      summary: "print the version, the commit and the version of Node",
      define: async (command) => (await import("./version-command.ts")).defineVersion(command),
    },
  ];
}
