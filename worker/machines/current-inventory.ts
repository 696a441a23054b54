import { BmcError } from "../../shared/contract/bmc-error.ts";
import type { Connection } from "../../shared/contract/connection.ts";
import type { ConnectionReading, Inventory, Machine, MountedConnection } from "./inventory.ts";

/** The inventory as it is now: what holds on to this sees every change. */
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

  /** Undefined, too, for one that was given another BMC: `resolveConnection` says so. */
  mountedConnection(machine: Machine, namespace: string): MountedConnection | undefined {
    const now = this.#inventory.find(machine.name);
    if (now && now.lockKey !== machine.lockKey) return undefined;
    return this.#inventory.mountedConnection?.(machine, namespace);
  }

  /**
   * As the inventory is now, so that a corrected entry counts for an action that waited. It has waited for its turn
   * at the BMC the machine had then: with another one since, two could be at one BMC.
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
