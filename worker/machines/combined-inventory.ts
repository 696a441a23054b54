import type { Connection } from "../../shared/contract/connection.ts";
import type { DesiredState } from "../../shared/contract/desired-state.ts";
import type { Logger } from "../../shared/logger.ts";
import type { BmcAddress, MachineOrigin } from "../action/machine-facts.ts";
import { directMachine } from "./direct-machine.ts";
import type {
  ConnectionReading,
  DirectMachine,
  HostAccess,
  Inventory,
  Machine,
  MountedConnection,
} from "./inventory.ts";

export interface CombinedInventoryOptions {
  readonly file: Inventory;
  readonly cluster: Inventory;
  readonly log: Pick<Logger, "warn">;
}

/** Combines an inventory file and a cluster. Machines of the file come first and keep their names. */
export class CombinedInventory implements Inventory {
  readonly #options: CombinedInventoryOptions;
  /** Duplicate names that were already logged. */
  readonly #logged = new Set<string>();
  /** Cached, because it is read often and seldom changes. */
  #made: { readonly of: readonly (readonly Machine[])[]; readonly machines: readonly Machine[] } | undefined;

  constructor(options: CombinedInventoryOptions) {
    this.#options = options;
  }

  machines(): readonly Machine[] {
    const own = this.#options.file.machines();
    const others = this.#options.cluster.machines();
    if (this.#made?.of[0] !== own || this.#made.of[1] !== others) {
      this.#made = { of: [own, others], machines: this.#combine(own, others) };
    }
    return this.#made.machines;
  }

  find(name: string, namespace?: string): Machine | undefined {
    return this.#options.file.find(name) ?? this.#options.cluster.find(name, namespace);
  }

  async resolveConnection(machine: Machine, reading: ConnectionReading): Promise<Connection> {
    return this.#ownerOf(machine).resolveConnection(machine, reading);
  }

  async missingSecret(machine: Machine, signal: AbortSignal): Promise<string | undefined> {
    return this.#ownerOf(machine).missingSecret?.(machine, signal);
  }

  directMachine(host: string): DirectMachine {
    return this.#options.file.directMachine?.(host) ?? directMachine(host);
  }

  bmcAddress(name: string): BmcAddress | undefined {
    const { file, cluster } = this.#options;
    return (file.find(name) ? file : cluster).bmcAddress?.(name);
  }

  desiredState(name: string): DesiredState | undefined {
    const { file, cluster } = this.#options;
    return (file.find(name) ? file : cluster).desiredState?.(name);
  }

  origin(name: string): MachineOrigin | undefined {
    const { file, cluster } = this.#options;
    return file.find(name) ? { source: "inventory file" } : cluster.origin?.(name);
  }

  mountedConnection(machine: Machine, namespace: string): MountedConnection | undefined {
    return this.#ownerOf(machine).mountedConnection?.(machine, namespace);
  }

  hostAccess(machine: Machine, image: string): HostAccess | undefined {
    return this.#ownerOf(machine).hostAccess?.(machine, image);
  }

  hosts(): readonly HostAccess[] | undefined {
    const { cluster } = this.#options;
    return cluster.hosts ? cluster.hosts() : [];
  }

  /** By the current name; the owner checks whether the BMC is still the same. */
  #ownerOf({ name }: Machine): Inventory {
    return this.#options.file.find(name) ? this.#options.file : this.#options.cluster;
  }

  #combine(own: readonly Machine[], others: readonly Machine[]): readonly Machine[] {
    const names = new Set(own.map(({ name }) => name));
    const added = others.filter(({ name }) => !names.has(name));
    for (const { name } of others) {
      if (!names.has(name) || this.#logged.has(name)) continue;
      this.#logged.add(name);
      this.#options.log.warn({ machine: name }, "duplicate machine: inventory file overrides cluster");
    }
    return [...own, ...added];
  }
}
