import { BmcError } from "../../shared/contract/bmc-error.ts";
import type { Connection } from "../../shared/contract/connection.ts";
import type { DesiredState } from "../../shared/contract/desired-state.ts";
import type { BmcAddress } from "../action/machine-facts.ts";
import { directMachine } from "./direct-machine.ts";
import type { ConnectionReading, DirectMachine, Inventory, Machine, MountedConnection } from "./inventory.ts";

/** Delegates to the current inventory, which `replace` changes. */
export class CurrentInventory implements Inventory {
  #inventory: Inventory;

  constructor(inventory: Inventory) {
    this.#inventory = inventory;
  }

  replace(inventory: Inventory): void {
    this.#inventory = inventory;
  }

  machines(): readonly Machine[] {
    return this.#inventory.machines();
  }

  find(name: string, namespace?: string): Machine | undefined {
    return this.#inventory.find(name, namespace);
  }

  directMachine(host: string): DirectMachine {
    return this.#inventory.directMachine?.(host) ?? directMachine(host);
  }

  bmcAddress(name: string): BmcAddress | undefined {
    return this.#inventory.bmcAddress?.(name);
  }

  desiredState(name: string): DesiredState | undefined {
    return this.#inventory.desiredState?.(name);
  }

  /** Also undefined for a machine whose BMC changed: `resolveConnection` says so. */
  mountedConnection(machine: Machine, namespace: string): MountedConnection | undefined {
    const now = this.#inventory.find(machine.name);
    if (now && now.lockKey !== machine.lockKey) return undefined;
    return this.#inventory.mountedConnection?.(machine, namespace);
  }

  /**
   * Uses the current entry, so that a correction applies to a waiting action. The action has the lock of the BMC that
   * the machine had then: with another BMC since, two actions could use one.
   */
  async resolveConnection(machine: Machine, reading: ConnectionReading): Promise<Connection> {
    const now = this.#inventory.find(machine.name);
    if (now && now.lockKey !== machine.lockKey) {
      const change = "its BMC in the inventory changed while the action waited: nothing was sent";
      throw new BmcError("usage", `machine ${machine.name}: ${change}`);
    }
    return this.#inventory.resolveConnection(machine, reading);
  }
}
