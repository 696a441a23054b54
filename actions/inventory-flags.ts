/** A flag with which `pbnj-worker action` runs an action on machines of an inventory. */
export interface InventoryFlag {
  readonly name: string;
  /** The placeholder of the value in the help; undefined for a flag without a value. */
  readonly value?: string;
  readonly description: string;
  readonly default?: string;
}

export const INVENTORY_FLAGS: readonly InventoryFlag[] = [
  { name: "--inventory", value: "file", description: "run on machines of this inventory, several at a time" },
  {
    name: "--machine",
    value: "name,...",
    description: "these machines, with * for anything; repeat for several",
  },
  {
    name: "--selector",
    value: "labels",
    description: "the machines with these labels, such as rack=r12,role!=spare",
  },
  { name: "--all", description: "every machine of the inventory" },
  { name: "--concurrency", value: "number", description: "how many machines at a time", default: "50" },
];
