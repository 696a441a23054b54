import { BmcError } from "../../shared/contract/bmc-error.ts";
import { type Connection, providersOf } from "../../shared/contract/connection.ts";
import type { DesiredState } from "../../shared/contract/desired-state.ts";
import type { BmcAddress } from "../action/machine-facts.ts";
import { bmcAddress } from "./bmc-address.ts";
import { connectEntry, entryLockKey } from "./connect-entry.ts";
import { readCredentials } from "./credentials.ts";
import { directMachine, type EntryDefaults } from "./direct-machine.ts";
import type { ConnectionReading, DirectMachine, Inventory, Machine } from "./inventory.ts";
import type { Environment } from "./run-secret-command.ts";
import type { MachineEntry } from "./schema.ts";

/** The machines of an inventory file. The file is read once; secrets are read for each connection. */
export class FileInventory implements Inventory {
  readonly #entries: ReadonlyMap<string, MachineEntry>;
  readonly #machines: readonly Machine[];
  readonly #env: Environment;
  readonly #defaults: EntryDefaults | undefined;

  /** Paths in `entries` are absolute; `env` resolves the variables they name. */
  constructor(entries: readonly MachineEntry[], env: Environment, defaults?: EntryDefaults) {
    this.#defaults = defaults;
    this.#entries = new Map(entries.map((entry) => [entry.name, entry]));
    this.#machines = entries.map(machineOf);
    this.#env = env;
  }

  machines(): readonly Machine[] {
    return this.#machines;
  }

  find(name: string): Machine | undefined {
    const entry = this.#entries.get(name);
    return entry && machineOf(entry);
  }

  bmcAddress(name: string): BmcAddress | undefined {
    const entry = this.#entries.get(name);
    return entry && bmcAddress(entry, providersOf(entry));
  }

  desiredState(name: string): DesiredState | undefined {
    return this.#entries.get(name)?.desired;
  }

  directMachine(host: string): DirectMachine {
    return directMachine(host, this.#defaults);
  }

  async resolveConnection(machine: Machine, { signal, commands }: ConnectionReading): Promise<Connection> {
    const entry = this.#entries.get(machine.name);
    if (!entry) throw new BmcError("usage", `there is no machine ${machine.name} in the inventory`);
    try {
      if (entryLockKey(entry) !== machine.lockKey) {
        // The lock is that of the old BMC; another action may be running on this one.
        throw new BmcError("usage", "its BMC in the inventory changed while the action waited");
      }
      const reading = { env: this.#env, commands, signal };
      return await connectEntry(entry, await readCredentials(entry, reading), reading);
    } catch (thrown) {
      signal.throwIfAborted();
      throw new BmcError("usage", `machine ${machine.name}: ${BmcError.from(thrown).message}`);
    }
  }
}

function machineOf(entry: MachineEntry): Machine {
  return { name: entry.name, lockKey: entryLockKey(entry) };
}
