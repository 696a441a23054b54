import { isDeepStrictEqual } from "node:util";
import type { Clock } from "../../../shared/clock.ts";
import { BmcError } from "../../../shared/contract/bmc-error.ts";
import { defined } from "../../../shared/defined.ts";
import type { Logger } from "../../../shared/logger.ts";
import type { HostAccess } from "../../core/ports/runtime.ts";
import type { Cluster } from "../../kubernetes/client/cluster.ts";
import type { ObjectName } from "../../kubernetes/client/kinds.ts";
import { KubernetesError } from "../../kubernetes/client/kubernetes-error.ts";
import type { ReferenceRefusal } from "../../policy/reference.ts";
import type { Managed } from "./described-host.ts";
import { hostAccess } from "./host-access.ts";
import type { ClusterSource, MachineIndex } from "./machine-index.ts";
import { type OpenedSource, SourceConnection } from "./source-connection.ts";
import { sourceLog } from "./source-log.ts";
import type { MachineWarning } from "./warning-log.ts";
import type { Progress, SourceState } from "./watched-sources.ts";

/** Receives a new connection, or the reason why the last one was closed. Must not throw. */
export type UseConnection = (opened: OpenedSource | { readonly problem: string }) => void;

/** Connects to the cluster of a source, and reconnects when its connection settings change. */
export interface SourceAccess {
  /** Calls `use` with each new connection. Runs until the signal aborts. Never rejects. */
  run(use: UseConnection, signal: AbortSignal): Promise<void>;
  /** Returns why the latest change was not applied or there is no connection yet. */
  problem(): string | undefined;
}

/** A cluster that machines are read from. */
export interface MachineSource {
  /** The unique name of the source, which is shown with each machine. */
  readonly name: string;
  readonly kinds: readonly ClusterSource[];
  readonly access: SourceAccess;
  /** Whether this is the worker's own cluster, whose Secrets a pod can mount. */
  readonly isOwn: boolean;
  /** The namespace to watch; `*` means all, absent means the connection's own. */
  readonly watchNamespace?: string | undefined;
  /** The prefix of each machine's name. */
  readonly prefix?: string | undefined;
  /** Returns whether workflows of a namespace may use the machines. Default: only workflows of the machine's own namespace. */
  readonly mayUse?: ((workflowNamespace: string) => boolean) | undefined;
}

export interface InventorySourceOptions {
  readonly source: MachineSource;
  readonly managedHosts: Managed;
  /** The policy for references between objects of the cluster. */
  readonly references: ReferenceRefusal;
  readonly clock: Clock;
  readonly log: Logger;
  /** Called when the machines have changed. Must not throw. */
  readonly onChange: () => void;
}

const EMPTY: MachineIndex = { byName: new Map(), machines: [], rejected: [] };
/** How often to check whether a new connection has listed everything. */
const LISTED_LOOK_MS = 100;

/**
 * The machines of one source. If its cluster is unreachable, the known machines remain. A new connection replaces the old one
 * only once it has listed its objects, so that wrong settings break nothing.
 */
export class InventorySource {
  readonly #options: InventorySourceOptions;
  #shown: SourceConnection | undefined;
  #next: SourceConnection | undefined;
  /** Why `#shown` was closed, if it was. */
  #closedBecause: string | undefined;
  readonly #stop = new AbortController();
  /** The work of connections that watch, that are about to replace another one, or that are closing. */
  readonly #work = new Set<Promise<void>>();

  constructor(options: InventorySourceOptions) {
    this.#options = options;
  }

  get name(): string {
    return this.#options.source.name;
  }

  get isOwn(): boolean {
    return this.#options.source.isOwn;
  }

  /** Runs until the signal aborts. Never rejects. Secrets can still be read until `close`. */
  async run(signal: AbortSignal): Promise<void> {
    const either = AbortSignal.any([signal, this.#stop.signal]);
    await this.#options.source.access.run((opened) => this.#use(opened, either), either);
    await Promise.all(this.#work);
  }

  async close(): Promise<void> {
    this.#stop.abort();
    this.#close(this.#next);
    this.#close(this.#shown);
    await Promise.all(this.#work);
  }

  index(): MachineIndex {
    return this.#shown?.index() ?? EMPTY;
  }

  /** Whether availability has changed since the last call in a way that changes the index. */
  look(): boolean {
    return this.#shown?.look() ?? false;
  }

  progress(): Progress {
    if (this.#shown && !this.#shown.isClosed) return this.#shown.watched.progress();
    const reason = this.#problem() ?? "its cluster is not connected yet";
    return { kind: this.#problem() === undefined ? "listing" : "failed", reason };
  }

  states(): readonly SourceState[] {
    return this.#shown?.isClosed === false ? this.#shown.watched.states() : [];
  }

  /** Why the machines may be stale, in one line each. */
  problems(): readonly string[] {
    const failing = this.states().flatMap(({ resource, state, reason }) =>
      state === "failing" ? [`${resource}: ${reason ?? "cannot be watched"}`] : [],
    );
    const connecting = this.#problem() ?? this.#nextProblem();
    return connecting === undefined ? failing : [connecting, ...failing];
  }

  warnings(): readonly MachineWarning[] {
    return this.#shown?.isClosed === false ? this.#shown.watched.warnings() : [];
  }

  /** The API server, once known. */
  get server(): string | undefined {
    return this.#shown?.cluster.server;
  }

  /** Finds the machine to which a workflow of this namespace refers, if the workflow may use it. Returns its name in `index`. */
  find(name: string, namespace: string): string | undefined {
    const { mayUse } = this.#options.source;
    const { byName } = this.index();
    const of = (full: string | undefined) => (full !== undefined && byName.has(full) ? full : undefined);
    if (mayUse) return mayUse(namespace) ? of(name) : undefined;
    const suffix = `.${namespace}`;
    const bare = name.endsWith(suffix) ? name.slice(0, -suffix.length) : undefined;
    if (this.#shown?.allNamespaces) {
      const own = of(`${name}${suffix}`) ?? (bare === undefined ? undefined : of(name));
      return own ?? this.#findOthers(name, namespace);
    }
    if (namespace === this.#shown?.watchNamespace) return of(name) ?? of(bare);
    return this.#findOthers(name, namespace);
  }

  /** Finds a machine of another namespace by its full name, if the policy lets workflows of this namespace use it. */
  #findOthers(name: string, namespace: string): string | undefined {
    const found = this.index().byName.get(name);
    if (!found || found.object === "HostClaim") return undefined;
    const { object: kind, at } = found;
    const reference = { from: { kind: "Workflow", namespace }, to: { kind, ...at } };
    return this.#options.references(reference) === undefined ? name : undefined;
  }

  /** Reads through the machine's connection. Throws a `BmcError`; for the worker's own cluster, whatever `work` throws. */
  async read<T>(name: string, work: (cluster: Cluster) => Promise<T>): Promise<T> {
    const called = `machine source ${this.name}`;
    if (!this.#shown || this.#shown.isClosed || !this.index().byName.has(name)) {
      throw new BmcError("internal", `${called}: ${this.#problem() ?? "is not connected"}`);
    }
    try {
      return await this.#shown.use(work);
    } catch (thrown) {
      if (this.isOwn) throw thrown;
      const { class: errorClass, message } = BmcError.from(thrown);
      throw new BmcError(errorClass, `${called}: ${message}`);
    }
  }

  /** Gives access to a host; undefined if the source does not have it now. */
  host(at: ObjectName): HostAccess | undefined {
    const seen = this.#shown?.watched.objects().findHost(at);
    return seen && hostAccess(this.name, seen, (work) => this.#through(work));
  }

  hosts(): readonly HostAccess[] {
    const seen = [...(this.#shown?.watched.objects().hosts ?? [])];
    return seen.map((host) => hostAccess(this.name, host, (work) => this.#through(work)));
  }

  async #through<T>(work: (cluster: Cluster) => Promise<T>): Promise<T> {
    const shown = this.#shown;
    if (!shown || shown.isClosed) throw new KubernetesError("unreachable", `${this.name} is not connected`);
    return shown.use(work);
  }

  #problem(): string | undefined {
    return this.#closedBecause ?? this.#options.source.access.problem();
  }

  #nextProblem(): string | undefined {
    const progress = this.#next?.watched.progress();
    return progress && progress.kind !== "listed" ? `new connection: ${progress.reason}` : undefined;
  }

  #use(opened: Parameters<UseConnection>[0], signal: AbortSignal): void {
    this.#close(this.#next);
    this.#next = undefined;
    if ("problem" in opened) {
      this.#closedBecause = opened.problem;
      this.#close(this.#shown);
      this.#options.onChange();
      return;
    }
    const next = this.#connect(opened);
    this.#track(next.run(signal));
    if (!this.#shown) {
      this.#show(next);
      if (!this.isOwn) this.#options.log.info(this.#facts(), "machine source connected");
    } else {
      this.#next = next;
      this.#track(this.#replace(next, signal));
    }
  }

  /** Waits until the next connection has listed its objects, then closes the old connection and shows the new one. */
  async #replace(next: SourceConnection, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (this.#next === next && !signal.aborted) {
      if (next.watched.progress().kind === "listed") {
        this.#close(this.#shown);
        this.#next = undefined;
        this.#show(next);
        this.#options.log.info(this.#facts(), "machine source reconnected");
        return;
      }
      await clock.sleep(LISTED_LOOK_MS, signal).catch(() => undefined);
    }
  }

  #show(connection: SourceConnection): void {
    this.#shown = connection;
    this.#closedBecause = undefined;
    this.#options.onChange();
  }

  #facts() {
    return defined({ source: this.name, server: this.server });
  }

  #connect(opened: OpenedSource): SourceConnection {
    const { source, managedHosts, clock, log, onChange } = this.#options;
    const connection: SourceConnection = new SourceConnection({
      opened,
      source: source.name,
      kinds: source.kinds,
      managedHosts,
      prefix: source.prefix ?? "",
      watchNamespace: source.watchNamespace ?? opened.cluster.namespace,
      clock,
      log: source.isOwn ? log : sourceLog(log, source.name),
      onChange: (before, after) => {
        if (this.#shown === connection && !isDeepStrictEqual(before, after)) onChange();
      },
    });
    return connection;
  }

  #close(connection: SourceConnection | undefined): void {
    if (connection && !connection.isClosed) this.#track(connection.close());
  }

  #track(work: Promise<void>): void {
    const tracked: Promise<void> = work.finally(() => this.#work.delete(tracked));
    this.#work.add(tracked);
  }
}
