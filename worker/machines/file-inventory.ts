import { BmcError } from "../../shared/contract/bmc-error.ts";
import { providersOf } from "../../shared/contract/connection.ts";
import { bmcAddress } from "./bmc-address.ts";
import { connectEntry, entryLockKey } from "./connect-entry.ts";
import { readCredentials } from "./credentials.ts";
import { directMachine, type EntryDefaults } from "./direct-machine.ts";
import type { Inventory } from "./inventory.ts";
import type { MachineEntry } from "./inventory-schema.ts";
import type { Environment } from "./run-secret-command.ts";

/**
 * The machines of an inventory file. The file is read once; secrets are read for each connection. Paths in `given` are absolute;
 * `env` resolves the variables they name.
 */
export function fileInventory(
  given: readonly MachineEntry[],
  env: Environment,
  defaults?: EntryDefaults,
): Inventory {
  const entries = new Map(given.map((entry) => [entry.name, entry]));
  const machines = new Map(
    given.map((entry) => [entry.name, { name: entry.name, lockKey: entryLockKey(entry) }]),
  );
  const all = [...machines.values()];
  return {
    machines: () => all,
    find: (name) => machines.get(name),
    bmcAddress(name) {
      const entry = entries.get(name);
      return entry && bmcAddress(entry, providersOf(entry));
    },
    desiredState: (name) => entries.get(name)?.desired,
    directMachine: (host) => directMachine(host, defaults),
    async resolveConnection({ name, lockKey }, { signal, commands }) {
      const entry = entries.get(name);
      if (!entry) throw new BmcError("usage", `there is no machine ${name} in the inventory`);
      try {
        if (machines.get(name)?.lockKey !== lockKey) {
          // The lock is that of the old BMC; another action may be running on this one.
          throw new BmcError(
            "usage",
            "its BMC in the inventory changed while the action waited: nothing was sent",
          );
        }
        const reading = { env, commands, signal };
        return await connectEntry(entry, await readCredentials(entry, reading), reading);
      } catch (thrown) {
        signal.throwIfAborted();
        throw new BmcError("usage", `machine ${name}: ${BmcError.from(thrown).message}`);
      }
    },
  };
}
