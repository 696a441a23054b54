import type { Connection } from "../../shared/contract/connection.ts";
import type { DesiredState } from "../../shared/contract/desired-state.ts";
import { defined } from "../../shared/defined.ts";
import type { Logger } from "../../shared/logger.ts";
import type { BmcAddress, MachineOrigin } from "../core/action/machine-facts.ts";
import type { HostAccess, MountedConnection } from "../core/ports/runtime.ts";
import { directMachine } from "./direct-machine.ts";
import type { ConnectionReading, DirectMachine, Inventory, Machine } from "./inventory.ts";
import { refusePaused } from "./pause.ts";
import type { LimitRule } from "./start-limits-of.ts";

/**
 * Combines the machines of an inventory file, which may be replaced, with those of a cluster. The file's machines come first
 * and keep their names. The source that has the name at present answers, and each source checks that the BMC is still the
 * same.
 */
export class CombinedInventory implements Inventory {
  #file: Inventory;
  #cluster: Inventory | undefined;
  readonly #log: Logger | undefined;
  /** Duplicate names that are already logged. */
  readonly #logged = new Set<string>();
  /** Cached, because it is read often and seldom changes. */
  #made: { readonly of: readonly (readonly Machine[])[]; readonly machines: readonly Machine[] } | undefined;

  constructor(file: Inventory, log?: Logger) {
    this.#file = file;
    this.#log = log;
  }

  replace(file: Inventory): void {
    this.#file = file;
  }

  /** Adds the machines of a cluster. */
  join(cluster: Inventory): void {
    this.#cluster = cluster;
  }

  /** Finds a machine in the file only, even if the cluster has one of this name. */
  isInFile(name: string): boolean {
    return this.#file.find(name) !== undefined;
  }

  machines(): readonly Machine[] {
    const own = this.#file.machines();
    const others = this.#cluster?.machines();
    if (!others) return own;
    if (this.#made?.of[0] !== own || this.#made.of[1] !== others) {
      this.#made = { of: [own, others], machines: this.#combine(own, others) };
    }
    return this.#made.machines;
  }

  find(name: string, namespace?: string): Machine | undefined {
    const own = this.#file.find(name);
    if (own) return this.#orPaused(own);
    const other = this.#cluster?.find(name, namespace);
    return other && this.#byLabels(other);
  }

  async resolveConnection(machine: Machine, reading: ConnectionReading): Promise<Connection> {
    refusePaused(this.find(machine.name), reading);
    return this.#ownerOf(machine.name).resolveConnection(machine, reading);
  }

  async missingSecret(machine: Machine, signal: AbortSignal): Promise<string | undefined> {
    return this.#ownerOf(machine.name).missingSecret?.(machine, signal);
  }

  directMachine(host: string): DirectMachine {
    return this.#file.directMachine?.(host) ?? directMachine(host);
  }

  bmcAddress(name: string): BmcAddress | undefined {
    return this.#ownerOf(name).bmcAddress?.(name);
  }

  desiredState(name: string): DesiredState | undefined {
    return this.#ownerOf(name).desiredState?.(name);
  }

  limits(): readonly LimitRule[] {
    return this.#file.limits?.() ?? [];
  }

  /** The source of a machine; undefined without a cluster, because there is only one source. */
  origin(name: string): MachineOrigin | undefined {
    const cluster = this.#cluster;
    return cluster && this.#file.find(name) ? { source: "inventory file" } : cluster?.origin?.(name);
  }

  mountedConnection(machine: Machine, namespace: string): MountedConnection | undefined {
    return this.#ownerOf(machine.name).mountedConnection?.(machine, namespace);
  }

  hostAccess(machine: Machine, image: string): HostAccess | undefined {
    return this.#ownerOf(machine.name).hostAccess?.(machine, image);
  }

  hosts(): readonly HostAccess[] | undefined {
    return this.#cluster?.hosts ? this.#cluster.hosts() : [];
  }

  #ownerOf(name: string): Inventory {
    return this.#cluster && !this.#file.find(name) ? this.#cluster : this.#file;
  }

  #combine(own: readonly Machine[], others: readonly Machine[]): readonly Machine[] {
    const names = new Set(own.map(({ name }) => name));
    const added = others.filter(({ name }) => !names.has(name));
    for (const { name } of others) {
      if (!names.has(name) || this.#logged.has(name)) continue;
      this.#logged.add(name);
      this.#log?.warn({ machine: name }, "duplicate machine: inventory file overrides cluster");
    }
    return [
      ...own.map((machine) => this.#orPaused(machine)),
      ...added.map((machine) => this.#byLabels(machine)),
    ];
  }

  /** The file's rules also take machines of the cluster out of service. */
  #byLabels(machine: Machine): Machine {
    const paused = machine.paused ?? this.#file.pauseByLabels?.(machine.labels);
    return paused === machine.paused ? machine : { ...machine, ...defined({ paused }) };
  }

  /** Adds the pause of the machine's object: a machine is out of service even if only its object says so. */
  #orPaused(machine: Machine): Machine {
    const paused = machine.paused ?? this.#cluster?.find(machine.name)?.paused;
    return paused === machine.paused ? machine : { ...machine, ...defined({ paused }) };
  }
}
