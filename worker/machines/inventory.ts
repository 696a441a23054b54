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
  /** `namespace` is that of the workflow which asks, where machines belong to namespaces. */
  find(name: string, namespace?: string): Machine | undefined;
  /**
   * What an action needs to reach the machine's BMC. Reads the machine's secrets anew at every call, so that
   * they may be rotated while the worker runs. Throws a `BmcError` of class `usage` whose one line names the
   * file, variable, command or Secret that is wrong, and never its content; of class `internal` or `timeout` where a cluster does
   * not answer; and the signal's reason when that aborts.
   */
  resolveConnection(machine: Machine, reading: ConnectionReading): Promise<Connection>;
  /**
   * The same with the secrets left where they are, for an action whose pod runs in `namespace`. Undefined where they are not
   * in Secrets of that namespace.
   */
  mountedConnection?(machine: Machine, namespace: string): MountedConnection | undefined;
}

/**
 * What an action needs to reach a BMC, without the secrets: those are files in the action's pod, which a kubelet puts there
 * out of Secrets that the worker itself need not be able to read.
 */
export interface MountedConnection {
  /** As a connection file has it: where a secret belongs stands a `FileReference` to one of the files. */
  readonly document: Readonly<Record<string, unknown>>;
  readonly files: readonly MountedFile[];
}

export interface MountedFile {
  /** The file's name beside the connection file. */
  readonly file: string;
  /** The Secret's name, in the namespace that the pod runs in. */
  readonly secret: string;
  readonly key: string;
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
