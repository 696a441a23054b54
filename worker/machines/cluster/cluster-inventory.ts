import { isDeepStrictEqual } from "node:util";
import type { Clock } from "../../../shared/clock.ts";
import { BmcError } from "../../../shared/contract/bmc-error.ts";
import { Connection } from "../../../shared/contract/connection.ts";
import type { Logger } from "../../../shared/logger.ts";
import type { BmcAddress } from "../../action/machine-facts.ts";
import type { Cluster } from "../../cluster/client/cluster.ts";
import { bmcAddress } from "../bmc-address.ts";
import type { ConnectionReading, Inventory, Machine, MountedConnection } from "../inventory.ts";
import { type Connectable, mountConnection, readConnection } from "./cluster-connection.ts";
import { type ConnectionSource, connectionDocument } from "./connection-document.ts";
import { type ClusterSource, indexMachines, type MachineIndex } from "./machine-index.ts";
import { machineWarnings, reasonOf, WarningLog } from "./warning-log.ts";
import { type SourceState, WatchedSources } from "./watched-sources.ts";

export interface ClusterInventoryOptions {
  readonly cluster: Pick<Cluster, "list" | "watch" | "get">;
  readonly sources: readonly ClusterSource[];
  readonly watchNamespace: string;
  readonly log: Logger;
  readonly clock: Clock;
  /** Called once per burst of changes, the first time for all machines. Must not throw. */
  readonly onChange: (changes: MachineChanges) => void;
}

/** Added and removed names; a machine whose object changed is in neither. */
export interface MachineChanges {
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

export type Synced = { readonly ok: true } | { readonly ok: false; readonly reason: string };

export interface ClusterInventoryState {
  readonly machines: number;
  readonly unusable: readonly { readonly name: string; readonly reason: string }[];
  readonly sources: readonly SourceState[];
}

/** Changes within this time are reported together; none waits longer than LONGEST_WAIT_MS. */
const QUIET_MS = 200;
const LONGEST_WAIT_MS = 2_000;
/** How long the first list of one source may delay the report of the others. */
const FIRST_WAIT_MS = 30_000;
/** How often to check whether kinds were added or removed, which no watch shows. */
const LOOK_MS = 5_000;
const FIRST_LOOK_MS = 100;

/**
 * The machines of a cluster, from watched `Machine` (Rufio) and `Hardware` (Tinkerbell) objects. If the cluster is
 * unreachable, the known machines remain. Secrets are read for each connection.
 */
export class ClusterInventory implements Inventory {
  readonly #options: ClusterInventoryOptions;
  readonly #sources: WatchedSources;
  readonly #sourceWarnings: WarningLog;
  readonly #machineWarnings: WarningLog;
  readonly #allNamespaces: boolean;
  readonly #addresses = new WeakMap<ConnectionSource, BmcAddress>();
  #index: MachineIndex | undefined;
  #hasChanged = false;
  #wake = new AbortController();
  #reported: MachineIndex | undefined;

  constructor(options: ClusterInventoryOptions) {
    const { cluster, sources, watchNamespace, clock, log } = options;
    this.#options = options;
    this.#allNamespaces = watchNamespace === "*";
    this.#sourceWarnings = new WarningLog(log);
    this.#machineWarnings = new WarningLog(log);
    this.#sources = new WatchedSources({
      cluster,
      sources,
      namespace: this.#allNamespaces ? undefined : watchNamespace,
      clock,
      log,
      onChange: (before, after) => {
        if (!isDeepStrictEqual(before, after)) this.#changed();
      },
    });
  }

  /** Runs until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#sources.run(signal), this.#reportChanges(signal)]);
  }

  /**
   * Resolves when every source was listed once, when one certainly cannot be listed before an operator acts, or when
   * the signal aborts. Never rejects.
   */
  async synced(signal: AbortSignal): Promise<Synced> {
    for (;;) {
      const progress = this.#sources.progress();
      if (progress.kind === "listed") return { ok: true };
      if (progress.kind === "failed") return { ok: false, reason: progress.reason };
      if (signal.aborted) return { ok: false, reason: progress.reason };
      await this.#options.clock.sleep(FIRST_LOOK_MS, signal).catch(() => undefined);
    }
  }

  state(): ClusterInventoryState {
    const { machines, byName } = this.#current();
    const unusable = [...byName.values()].flatMap((found) => {
      const { machine, isListed, content } = found;
      if (!isListed || content.kind === "usable") return [];
      return [{ name: machine.name, reason: reasonOf(found, content.problems) }];
    });
    return { machines: machines.length, unusable, sources: this.#sources.states() };
  }

  machines(): readonly Machine[] {
    return this.#current().machines;
  }

  /**
   * Finds a machine by the object's name, with or without its namespace. With `namespace`, machines of other
   * namespaces are not found; without it, the name must be as in `machines`.
   */
  find(name: string, namespace?: string): Machine | undefined {
    const { byName } = this.#current();
    const of = (full: string | undefined) => (full === undefined ? undefined : byName.get(full)?.machine);
    if (namespace === undefined) return of(name);
    const suffix = `.${namespace}`;
    const bare = name.endsWith(suffix) ? name.slice(0, -suffix.length) : undefined;
    if (this.#allNamespaces) return of(`${name}${suffix}`) ?? (bare === undefined ? undefined : of(name));
    return namespace === this.#options.watchNamespace ? (of(name) ?? of(bare)) : undefined;
  }

  async resolveConnection(machine: Machine, { signal }: ConnectionReading): Promise<Connection> {
    try {
      return await readConnection(this.#connectable(machine), this.#options.cluster, signal);
    } catch (thrown) {
      signal.throwIfAborted();
      const { class: errorClass, message } = BmcError.from(thrown);
      throw new BmcError(errorClass, `machine ${machine.name}: ${message}`);
    }
  }

  /** Also undefined for an invalid machine: `resolveConnection` says why. */
  mountedConnection({ name, lockKey }: Machine, namespace: string): MountedConnection | undefined {
    const now = this.#current().byName.get(name);
    if (now?.content.kind !== "usable" || now.machine.lockKey !== lockKey) return undefined;
    return mountConnection({ ...now, source: now.content.source }, namespace);
  }

  bmcAddress(name: string): BmcAddress | undefined {
    const content = this.#current().byName.get(name)?.content;
    if (content?.kind !== "usable") return undefined;
    const { source } = content;
    const known = this.#addresses.get(source);
    if (known) return known;
    const connection = Connection.safeParse(connectionDocument(source)).data;
    const address = connection && bmcAddress(connection, connection.providers);
    if (address) this.#addresses.set(source, address);
    return address;
  }

  #connectable({ name, lockKey }: Machine): Connectable {
    const now = this.#current().byName.get(name);
    if (!now) throw new BmcError("usage", "the cluster does not have it any more");
    const { content, machine, at } = now;
    if (content.kind === "unusable") throw new BmcError("usage", reasonOf(now, content.problems));
    if (machine.lockKey !== lockKey) {
      // The lock is that of the old BMC; another action may be running on this one.
      throw new BmcError("usage", "its BMC in the cluster changed while the action waited");
    }
    return { machine, at, source: content.source };
  }

  #current(): MachineIndex {
    const { sources } = this.#options;
    this.#index ??= indexMachines(this.#sources.objects(), { sources, allNamespaces: this.#allNamespaces });
    return this.#index;
  }

  #changed(): void {
    this.#index = undefined;
    this.#hasChanged = true;
    this.#wake.abort();
  }

  async #reportChanges(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const startedMs = clock.monotonicMs();
    for (let isFirst = true; !signal.aborted; ) {
      if (await this.#changesWithin(isFirst ? FIRST_LOOK_MS : LOOK_MS, signal))
        await this.#untilQuiet(signal);
      if (this.#sources.look()) this.#index = undefined;
      const isListing = this.#sources.progress().kind === "listing";
      if (isFirst && isListing && clock.monotonicMs() - startedMs < FIRST_WAIT_MS) continue;
      isFirst = false;
      if (!signal.aborted) this.#report();
    }
  }

  /** Resolves once changes stop, or after LONGEST_WAIT_MS. */
  async #untilQuiet(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const startedMs = clock.monotonicMs();
    while (clock.monotonicMs() - startedMs < LONGEST_WAIT_MS) {
      if (signal.aborted || !(await this.#changesWithin(QUIET_MS, signal))) return;
    }
  }

  /** Whether something changed since the last call, or changes within `ms`. */
  async #changesWithin(ms: number, signal: AbortSignal): Promise<boolean> {
    if (!this.#hasChanged) {
      const either = AbortSignal.any([signal, this.#wake.signal]);
      await this.#options.clock.sleep(ms, either).catch(() => undefined);
    }
    const hasChanged = this.#hasChanged;
    this.#hasChanged = false;
    this.#wake = new AbortController();
    return hasChanged;
  }

  #report(): void {
    this.#sourceWarnings.logNew(this.#sources.warnings());
    const index = this.#current();
    if (index === this.#reported) return;
    const before = new Set(this.#reported?.machines.map(({ name }) => name));
    const now = new Set(index.machines.map(({ name }) => name));
    const added = [...now].filter((name) => !before.has(name));
    const removed = [...before].filter((name) => !now.has(name));
    if (!this.#reported) this.#logVerification(index);
    this.#reported = index;
    if (added.length > 0 || removed.length > 0) this.#options.onChange({ added, removed });
    this.#machineWarnings.logNew(machineWarnings(index));
  }

  /** Rufio never verifies certificates, whatever the object says, so this is logged once for users of Rufio. */
  #logVerification({ byName }: MachineIndex): void {
    const { length: machines } = [...byName.values()].filter(
      ({ content }) => content.kind === "usable" && !content.source.connection.insecureTLS,
    );
    const { log } = this.#options;
    if (machines > 0) log.info({ machines }, "verifying BMC certificates unless insecureTLS is true");
  }
}
