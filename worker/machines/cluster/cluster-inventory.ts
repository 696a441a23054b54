import { isDeepStrictEqual } from "node:util";
import type { Clock } from "../../../shared/clock.ts";
import { BmcError } from "../../../shared/contract/bmc-error.ts";
import type { Connection } from "../../../shared/contract/connection.ts";
import type { Logger } from "../../../shared/logger.ts";
import type { Cluster } from "../../cluster/client/cluster.ts";
import type { ConnectionReading, Inventory, Machine, MountedConnection } from "../inventory.ts";
import { type Connectable, mountConnection, readConnection } from "./cluster-connection.ts";
import { type ClusterSource, indexMachines, type MachineIndex } from "./machine-index.ts";
import { machineWarnings, reasonOf } from "./machine-warnings.ts";
import { WarningLog } from "./warning-log.ts";
import { type SourceState, WatchedSources } from "./watched-sources.ts";

export interface ClusterInventoryOptions {
  readonly cluster: Pick<Cluster, "list" | "watch" | "get">;
  readonly sources: readonly ClusterSource[];
  /** `*` is all namespaces. */
  readonly watchNamespace: string;
  readonly log: Logger;
  readonly clock: Clock;
  /** Called once for what comes within a moment, the first time for all that was there. Must not throw. */
  readonly onChange: (changes: MachineChanges) => void;
}

/** Which names came and went; a machine that changed in itself is in neither. */
export interface MachineChanges {
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

/** Whether all machines of the cluster were seen once. */
export type Synced = { readonly ok: true } | { readonly ok: false; readonly reason: string };

/** The inventory as it stands, for health and diagnosis. */
export interface ClusterInventoryState {
  readonly machines: number;
  /** Machines for which every action fails. */
  readonly unusable: readonly { readonly name: string; readonly reason: string }[];
  readonly sources: readonly SourceState[];
}

/** Changes that are no further apart are told together, but none waits longer than that for others. */
const QUIET_MS = 200;
const LONGEST_WAIT_MS = 2_000;
/** How long the first list of one source may keep what another has found from being told. */
const FIRST_WAIT_MS = 30_000;
/** How often it is looked whether kinds have come or gone, which nothing tells. */
const LOOK_MS = 5_000;
const FIRST_LOOK_MS = 100;

/**
 * The machines of a cluster, from Rufio's `Machine` and Tinkerbell's `Hardware` objects, watched. When the cluster cannot be
 * reached those of before stay. Secrets are read for each connection.
 */
export class ClusterInventory implements Inventory {
  readonly #options: ClusterInventoryOptions;
  readonly #sources: WatchedSources;
  readonly #sourceWarnings: WarningLog;
  readonly #machineWarnings: WarningLog;
  readonly #allNamespaces: boolean;
  #index: MachineIndex | undefined;
  /** Since it was asked last. */
  #hasChanged = false;
  /** Aborts when something changes. */
  #wake = new AbortController();
  /** What was told last. */
  #told: MachineIndex | undefined;

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

  /** Until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#sources.run(signal), this.#tellChanges(signal)]);
  }

  /**
   * Resolves when every source was listed once, when one certainly cannot be before somebody mends something, or when the
   * signal aborts. Never rejects.
   */
  async synced(signal: AbortSignal): Promise<Synced> {
    for (;;) {
      const progress = this.#sources.progress();
      if (progress.kind === "listed") return { ok: true };
      if (progress.kind === "hopeless") return { ok: false, reason: progress.reason };
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
   * By the object's name, or that with its namespace. Who asks for a namespace finds nothing of another one; who does not
   * must give the name as `machines` has it.
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

  /** Undefined, too, for a machine that cannot be used: `resolveConnection` says why. */
  mountedConnection({ name, lockKey }: Machine, namespace: string): MountedConnection | undefined {
    const now = this.#current().byName.get(name);
    if (now?.content.kind !== "usable" || now.machine.lockKey !== lockKey) return undefined;
    return mountConnection({ ...now, source: now.content.source }, namespace);
  }

  #connectable({ name, lockKey }: Machine): Connectable {
    const now = this.#current().byName.get(name);
    if (!now) throw new BmcError("usage", "the cluster does not have it any more");
    const { content, machine, at } = now;
    if (content.kind === "unusable") throw new BmcError("usage", reasonOf(now, content.problems));
    if (machine.lockKey !== lockKey) {
      // The turn was taken at the BMC that it had before; at this one another action may be running.
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

  async #tellChanges(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const startedMs = clock.monotonicMs();
    for (let isFirst = true; !signal.aborted; ) {
      if (await this.#changesWithin(isFirst ? FIRST_LOOK_MS : LOOK_MS, signal))
        await this.#untilQuiet(signal);
      if (this.#sources.look()) this.#index = undefined;
      const isListing = this.#sources.progress().kind === "listing";
      if (isFirst && isListing && clock.monotonicMs() - startedMs < FIRST_WAIT_MS) continue;
      isFirst = false;
      if (!signal.aborted) this.#tell();
    }
  }

  /** Or until it has taken too long. */
  async #untilQuiet(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const startedMs = clock.monotonicMs();
    while (clock.monotonicMs() - startedMs < LONGEST_WAIT_MS) {
      if (signal.aborted || !(await this.#changesWithin(QUIET_MS, signal))) return;
    }
  }

  /** Whether something changed since this was asked last, or does before the time is over. */
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

  #tell(): void {
    this.#sourceWarnings.say(this.#sources.warnings());
    const index = this.#current();
    if (index === this.#told) return;
    const before = new Set(this.#told?.machines.map(({ name }) => name));
    const now = new Set(index.machines.map(({ name }) => name));
    const added = [...now].filter((name) => !before.has(name));
    const removed = [...before].filter((name) => !now.has(name));
    if (!this.#told) this.#sayVerified(index);
    this.#told = index;
    if (added.length > 0 || removed.length > 0) this.#options.onChange({ added, removed });
    this.#machineWarnings.say(machineWarnings(index));
  }

  /** Rufio never verifies a certificate, whatever the object says: whoever comes from there is to hear it once. */
  #sayVerified({ byName }: MachineIndex): void {
    const { length: machines } = [...byName.values()].filter(
      ({ content }) => content.kind === "usable" && !content.source.connection.insecureTLS,
    );
    const { log } = this.#options;
    if (machines > 0) log.info({ machines }, "verifying BMC certificates unless insecureTLS is true");
  }
}
