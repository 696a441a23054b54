import type { Connection } from "../../shared/contract/connection.ts";
import type { SecretCommands } from "./secret-commands.ts";

/** An entry of the inventory, as much of it as the worker itself looks at. */
export interface Machine {
  readonly name: string;
  /** The same text for every machine entry, and every action, that is about the same BMC. */
  readonly lockKey: string;
}

/** The machines a worker knows. */
export interface Inventory {
  /** In the inventory's order. */
  machines(): readonly Machine[];
  find(name: string): Machine | undefined;
  /**
   * What an action needs to reach the machine's BMC. Reads the machine's secrets anew at every call, so that
   * they may be rotated while the worker runs. Throws a `BmcError` of class `usage` whose one line names the
   * file, variable or command that is wrong, and never its content; and the signal's reason when that aborts.
   */
  resolveConnection(machine: Machine, reading: ConnectionReading): Promise<Connection>;
}

export interface ConnectionReading {
  /** Runs those commands that machines have for a vault. */
  readonly commands: SecretCommands;
  readonly signal: AbortSignal;
}

export const emptyInventory: Inventory = {
  machines: () => [],
  find: () => undefined,
  resolveConnection: (machine) => Promise.reject(new Error(`there is no machine ${machine.name}`)),
};
