import type { Connection } from "../../shared/contract/connection.ts";
import type { ConnectionReading, Inventory, Machine } from "./inventory.ts";

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

  find(name: string): Machine | undefined {
    return this.#inventory.find(name);
  }

  resolveConnection(machine: Machine, reading: ConnectionReading): Promise<Connection> {
    return this.#inventory.resolveConnection(machine, reading);
  }
}
