import type { Clock } from "../../../shared/clock.ts";
import { BmcError } from "../../../shared/contract/bmc-error.ts";
import { Connection } from "../../../shared/contract/connection.ts";
import type { DesiredState } from "../../../shared/contract/desired-state.ts";
import type { Logger } from "../../../shared/logger.ts";
import type { BmcAddress, MachineOrigin } from "../../core/action/machine-facts.ts";
import type { HostAccess, MountedConnection } from "../../core/ports/runtime.ts";
import { keyOf } from "../../kubernetes/client/kinds.ts";
import type { ObjectReference } from "../../kubernetes/events/object-events.ts";
import { bmcAddress } from "../../machines/bmc-address.ts";
import type { ConnectionReading, Inventory, Machine } from "../../machines/inventory.ts";
import { MachinePaused, refusePaused } from "../../machines/pause.ts";
import { ownNamespaceOnly, type ReferenceRefusal } from "../../policy/reference.ts";
import { ChangeBursts } from "./change-bursts.ts";
import {
  type Connectable,
  missingSecret,
  mountConnection,
  readConnection,
  refusedAccess,
} from "./cluster-connection.ts";
import { type ConnectionSource, connectionDocument } from "./connection-document.ts";
import type { Managed } from "./described-host.ts";
import type { BmcTarget } from "./described-machine.ts";
import { goesViaHost, readHostConnection } from "./host-connection.ts";
import { InventorySource, type MachineSource } from "./inventory-source.ts";
import { type ClusterMachine, type MachineIndex, mergeIndexes } from "./machine-index.ts";
import { machineWarnings, reasonOf, WarningLog } from "./warning-log.ts";
import type { SourceState } from "./watched-sources.ts";

export interface ClusterInventoryOptions {
  readonly sources: readonly MachineSource[];
  /** How to treat hosts whose power Metal3 manages. Default: refuse. */
  readonly managedHosts?: Managed;
  /** Decides whether an object may refer to another. Default: only to objects in its own namespace. */
  readonly references?: ReferenceRefusal;
  readonly log: Logger;
  readonly clock: Clock;
  /** Called once per burst of changes, the first time for all machines. Must not throw. */
  readonly onChange: (changes: MachineChanges) => void;
}

/** The names of the added and the removed machines. A machine whose object has changed is in neither list. */
export interface MachineChanges {
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

type UsableMachine = ClusterMachine & { readonly content: Extract<BmcTarget, { readonly kind: "usable" }> };

export type Synced = { readonly ok: true } | { readonly ok: false; readonly reason: string };

export interface ClusterInventoryState {
  readonly machines: number;
  readonly unusable: readonly { readonly name: string; readonly reason: string }[];
  readonly sources: readonly MachineSourceState[];
}

interface MachineSourceState {
  readonly name: string;
  /** Whether the machines are from the worker's own cluster. */
  readonly isOwn: boolean;
  /** The API server of the source, once known. */
  readonly server: string | undefined;
  readonly machines: number;
  readonly watches: readonly SourceState[];
  /** Why the machines of the source may be stale. */
  readonly problems: readonly string[];
}

/** How long the first list of the worker's own cluster may delay the first report of machines. */
const FIRST_WAIT_MS = 30_000;
/** How long the first list of another cluster may delay the first report of machines. */
const OTHERS_WAIT_MS = 5_000;
/** How often to check whether kinds were added to or removed from a cluster, which no watch shows. */
const LOOK_MS = 5_000;
const FIRST_LOOK_MS = 100;

/**
 * The machines of one or several clusters: watched `Machine` (Rufio), `Hardware` (Tinkerbell) and `BareMetalHost` (Metal3)
 * objects. If a cluster is unreachable, its known machines remain. Secrets are read for each connection.
 */
export class ClusterInventory implements Inventory {
  readonly #options: ClusterInventoryOptions;
  readonly #sources: readonly InventorySource[];
  readonly #sourceWarnings: WarningLog;
  readonly #machineWarnings: WarningLog;
  readonly #addresses = new WeakMap<ConnectionSource, BmcAddress>();
  readonly #changes: ChangeBursts;
  readonly #begunMs: number;
  #index: MachineIndex | undefined;
  #reported: MachineIndex | undefined;

  constructor(options: ClusterInventoryOptions) {
    const { managedHosts = "refuse", sources, clock, log } = options;
    this.#options = options;
    this.#changes = new ChangeBursts(clock);
    this.#begunMs = clock.monotonicMs();
    this.#sourceWarnings = new WarningLog(log);
    this.#machineWarnings = new WarningLog(log);
    const onChange = () => this.#changed();
    this.#sources = sources.map((source) => {
      const references = this.#referencesOf(source.name, source.isOwn);
      return new InventorySource({ source, managedHosts, references, clock, log, onChange });
    });
  }

  /** Runs until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([...this.#sources.map((source) => source.run(signal)), this.#reportChanges(signal)]);
  }

  /** Closes the connections to the clusters. Call after `run`; afterwards no connection to a machine can be resolved. */
  async close(): Promise<void> {
    await Promise.all(this.#sources.map((source) => source.close()));
  }

  /** Resolves when every source is listed, has failed or has taken too long, or when the signal aborts. Never rejects. */
  async synced(signal: AbortSignal): Promise<Synced> {
    while (!signal.aborted && this.#isListing()) {
      await this.#options.clock.sleep(FIRST_LOOK_MS, signal).catch(() => undefined);
    }
    for (const source of this.#sources) {
      const progress = source.progress();
      if (progress.kind !== "listed") return { ok: false, reason: progress.reason };
    }
    return { ok: true };
  }

  state(): ClusterInventoryState {
    const { machines, byName } = this.#current();
    const unusable = [...byName.values()].flatMap((found) => {
      const { machine, isListed, content } = found;
      if (!isListed || machine.paused) return [];
      const refused = this.#refusedAccess(found);
      if (refused !== undefined) return [{ name: machine.name, reason: reasonOf(found, [refused]) }];
      if (content.kind === "usable") return [];
      return [{ name: machine.name, reason: reasonOf(found, content.problems) }];
    });
    const sources = this.#sources.map((source) => ({
      name: source.name,
      isOwn: source.isOwn,
      server: source.server,
      machines: source.index().machines.length,
      watches: source.states(),
      problems: source.problems(),
    }));
    return { machines: machines.length, unusable, sources };
  }

  machines(): readonly Machine[] {
    return this.#current().machines;
  }

  /**
   * Finds a machine by name. With `namespace`, finds only machines that workflows of that namespace may use: those of the
   * namespace itself, with or without the namespace in their name, and others by their full name if the policy allows it.
   * Without `namespace`, the name must be one that `machines` returns.
   */
  find(name: string, namespace?: string): Machine | undefined {
    const { byName } = this.#current();
    if (namespace === undefined) return byName.get(name)?.machine;
    const found = new Set(this.#sources.flatMap((source) => source.find(name, namespace) ?? []));
    // A name without a namespace may match machines of several sources; then only the full name counts.
    const [full] = found.has(name) ? [name] : found.size === 1 ? found : [];
    const machine = full === undefined ? undefined : byName.get(full);
    // Only the tenant of a claim may use it, whatever else a source allows.
    const isOthers = machine?.object === "HostClaim" && machine.at.namespace !== namespace;
    return isOthers ? undefined : machine?.machine;
  }

  async resolveConnection(
    machine: Machine,
    { image, signal, ...terms }: ConnectionReading,
  ): Promise<Connection> {
    refusePaused(this.#current().byName.get(machine.name)?.machine, terms);
    try {
      const { content, ...found } = this.#usable(machine);
      const source = this.#sources.find(({ name }) => name === found.source);
      if (!source) throw new BmcError("usage", "the cluster does not have it any more");
      const { metal3 } = found;
      const connectable = this.#connectable({ ...found, content });
      if (metal3) {
        const { managedHosts: managed = "refuse", log } = this.#options;
        const { references } = connectable;
        return await source.read(found.machine.name, (cluster) =>
          readHostConnection({ ...found, content, metal3 }, cluster, {
            image,
            managed,
            references,
            log,
            signal,
            ...terms,
          }),
        );
      }
      return await source.read(found.machine.name, (cluster) => readConnection(connectable, cluster, signal));
    } catch (thrown) {
      signal.throwIfAborted();
      if (thrown instanceof MachinePaused) throw thrown;
      const { class: errorClass, message } = BmcError.from(thrown);
      throw new BmcError(errorClass, `machine ${machine.name}: ${message}`);
    }
  }

  async missingSecret(machine: Machine, signal: AbortSignal): Promise<string | undefined> {
    const found = this.#current().byName.get(machine.name);
    if (!found || !isUsable(found) || found.metal3 || found.machine.paused) return undefined;
    const source = this.#sources.find(({ name }) => name === found.source);
    const connectable = this.#connectable(found);
    return source?.read(machine.name, (cluster) => missingSecret(connectable, cluster, signal));
  }

  origin(name: string): MachineOrigin | undefined {
    const found = this.#current().byName.get(name);
    if (!found) return undefined;
    const { object, at, source, content } = found;
    const [outage] = this.#sources.find((one) => one.name === source)?.problems() ?? [];
    const problems =
      content.kind === "unusable"
        ? content.problems
        : [this.#refusedAccess(found), content.desiredProblem, outage];
    const problem = problems.filter((one) => one !== undefined).join("; ") || undefined;
    return { source, object: `${object} ${keyOf(at)}`, namespace: at.namespace, problem };
  }

  /** The object of a machine; undefined if it is in another cluster. */
  objectOf(name: string): ObjectReference | undefined {
    const found = this.#current().byName.get(name);
    if (found?.content.kind !== "usable" || !this.#isOwn(found.source)) return undefined;
    return found.content.object;
  }

  desiredState(name: string): DesiredState | undefined {
    const content = this.#current().byName.get(name)?.content;
    return content?.kind === "usable" ? content.desired : undefined;
  }

  /** Undefined also for a machine of another cluster and for an invalid machine, whose problem `resolveConnection` reports. */
  mountedConnection({ name, lockKey }: Machine, namespace: string): MountedConnection | undefined {
    const now = this.#current().byName.get(name);
    if (!now || !isUsable(now) || now.machine.lockKey !== lockKey) return undefined;
    if (!this.#isOwn(now.source)) return undefined;
    // A host's state is read at each launch, which a mounted connection would bypass.
    if (now.metal3) return undefined;
    return mountConnection(this.#connectable(now), namespace);
  }

  hostAccess({ name, lockKey }: Machine, image: string): HostAccess | undefined {
    const now = this.#current().byName.get(name);
    if (!now?.metal3 || now.content.kind !== "usable" || now.machine.lockKey !== lockKey) return undefined;
    if (!goesViaHost(now.content, image)) return undefined;
    return this.#sources.find((source) => source.name === now.source)?.host(now.metal3.host);
  }

  hosts(): readonly HostAccess[] | undefined {
    if (this.#sources.some((source) => source.progress().kind === "listing")) return undefined;
    return this.#sources.flatMap((source) => source.hosts());
  }

  bmcAddress(name: string): BmcAddress | undefined {
    const content = this.#current().byName.get(name)?.content;
    if (content?.kind !== "usable" || content.viaHost === "all") return undefined;
    const { source } = content;
    const known = this.#addresses.get(source);
    if (known) return known;
    const connection = Connection.safeParse(connectionDocument(source)).data;
    const address = connection && bmcAddress(connection, connection.providers);
    if (address) this.#addresses.set(source, address);
    return address;
  }

  #isOwn(source: string): boolean {
    return this.#sources.some(({ isOwn, name }) => isOwn && name === source);
  }

  #referencesOf(name: string, isOwn: boolean): ReferenceRefusal {
    const { references = ownNamespaceOnly } = this.#options;
    return (reference) => references(isOwn ? reference : { ...reference, source: name });
  }

  #connectable(found: UsableMachine): Connectable {
    const { source: name, content } = found;
    const references = this.#referencesOf(name, this.#isOwn(name));
    return { ...found, source: content.source, references };
  }

  /** Explains why the policy forbids a machine's Secrets or address. A host's Secrets are always in its own namespace. */
  #refusedAccess(found: ClusterMachine): string | undefined {
    return isUsable(found) && !found.metal3 ? refusedAccess(this.#connectable(found)) : undefined;
  }

  #usable({ name, lockKey }: Machine): UsableMachine {
    const now = this.#current().byName.get(name);
    if (!now) throw new BmcError("usage", "the cluster does not have it any more");
    const { content, machine } = now;
    if (content.kind === "unusable") throw new BmcError("usage", reasonOf(now, content.problems));
    if (machine.lockKey !== lockKey) {
      // The action has the old BMC's lock, so another action may be using this BMC.
      throw new BmcError("usage", "its BMC in the cluster changed while the action waited");
    }
    return { ...now, content };
  }

  #current(): MachineIndex {
    this.#index ??= mergeIndexes(this.#sources.map((source) => source.index()));
    return this.#index;
  }

  #changed(): void {
    this.#index = undefined;
    this.#changes.changed();
  }

  async #reportChanges(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const startedMs = clock.monotonicMs();
    for (let isFirst = true; !signal.aborted; ) {
      await this.#changes.next(isFirst ? FIRST_LOOK_MS : LOOK_MS, signal);
      if (this.#looked()) this.#index = undefined;
      if (isFirst && this.#isListing() && clock.monotonicMs() - startedMs < FIRST_WAIT_MS) continue;
      isFirst = false;
      if (!signal.aborted) this.#report();
    }
  }

  /** Whether a source's first list still delays the report. Other clusters delay it only for a short time. */
  #isListing(): boolean {
    const isEarly = this.#options.clock.monotonicMs() - this.#begunMs < OTHERS_WAIT_MS;
    return this.#sources.some((source) => {
      if (source.progress().kind !== "listing") return false;
      return source.isOwn || (isEarly && source.problems().length === 0);
    });
  }

  #looked(): boolean {
    return this.#sources.map((source) => source.look()).includes(true);
  }

  #report(): void {
    this.#sourceWarnings.logNew(this.#sources.flatMap((source) => source.warnings()));
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

  /** Logs once that certificates are verified, because Rufio never verifies them, whatever the object says. */
  #logVerification({ byName }: MachineIndex): void {
    const { length: machines } = [...byName.values()].filter(
      ({ content, metal3 }) =>
        metal3 === undefined && content.kind === "usable" && !content.source.connection.insecureTLS,
    );
    const { log } = this.#options;
    if (machines > 0) log.info({ machines }, "verifying BMC certificates unless insecureTLS is true");
  }
}

function isUsable(found: ClusterMachine): found is UsableMachine {
  return found.content.kind === "usable";
}
