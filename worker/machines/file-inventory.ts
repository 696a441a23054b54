import { BmcError } from "../../shared/contract/bmc-error.ts";
import { providersOf } from "../../shared/contract/connection.ts";
import { printableLine } from "../../shared/printable.ts";
import { bmcAddress } from "./bmc-address.ts";
import { connectEntry, entryLockKey } from "./connect-entry.ts";
import { readCredentials } from "./credentials.ts";
import { directMachine, type EntryDefaults } from "./direct-machine.ts";
import type { Inventory, Machine } from "./inventory.ts";
import type { MachineEntry, PauseRule } from "./inventory-schema.ts";
import { pauseOf, pauseReason, refusePaused } from "./pause.ts";
import type { Environment } from "./run-secret-command.ts";
import type { LimitRule } from "./start-limits-of.ts";

/** What an inventory file says beside its machines. */
export interface FileRules extends EntryDefaults {
  readonly pauses: readonly PauseRule[];
  readonly limits: readonly LimitRule[];
  /** The file's name, for people. */
  readonly file: string;
}

/**
 * The machines of an inventory file. The file is read once; secrets are read for each connection. Paths in `given` are
 * absolute; `env` resolves the variables that they name.
 */
export function fileInventory(
  given: readonly MachineEntry[],
  env: Environment,
  rules?: FileRules,
): Inventory {
  const pausedBy = `inventory ${printableLine(rules?.file ?? "file")}`;
  const entries = new Map(given.map((entry) => [entry.name, entry]));
  const machines = new Map(
    given.map((entry): [string, Machine] => {
      const { name, labels, paused: reason } = entry;
      const paused = reason === undefined ? undefined : pauseOf(reason, pausedBy);
      return [name, { name, lockKey: entryLockKey(entry), paused, labels }];
    }),
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
    limits: () => rules?.limits ?? [],
    pauseByLabels(labels) {
      const reason = pauseReason(rules?.pauses ?? [], labels);
      return reason === undefined ? undefined : pauseOf(reason, pausedBy);
    },
    directMachine: (host) => directMachine(host, rules),
    async resolveConnection({ name, lockKey }, { signal, commands, ...terms }) {
      const entry = entries.get(name);
      refusePaused(machines.get(name), terms);
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
