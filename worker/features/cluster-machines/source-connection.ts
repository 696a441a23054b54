import type { Clock } from "../../../shared/clock.ts";
import type { Logger } from "../../../shared/logger.ts";
import type { Cluster } from "../../kubernetes/client/cluster.ts";
import type { Managed } from "./described-host.ts";
import { type ClusterSource, indexMachines, type MachineIndex } from "./machine-index.ts";
import { WatchedSources } from "./watched-sources.ts";

/** A connection to the cluster of a source. */
export interface OpenedSource {
  readonly cluster: Cluster;
  close(): Promise<void>;
}

export interface SourceConnectionOptions {
  readonly opened: OpenedSource;
  readonly source: string;
  readonly kinds: readonly ClusterSource[];
  readonly managedHosts: Managed;
  readonly prefix: string;
  /** The namespace to watch; `*` means all. */
  readonly watchNamespace: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** Called with the kept parts of an object before and after a change. Must not throw. */
  readonly onChange: (before: unknown, after: unknown) => void;
}

/** The machines that one connection finds. Their Secrets are read through the same connection. */
export class SourceConnection {
  readonly cluster: Cluster;
  readonly watched: WatchedSources;
  readonly watchNamespace: string;
  readonly #options: SourceConnectionOptions;
  readonly #stop = new AbortController();
  readonly #reads = new Set<Promise<unknown>>();
  #index: MachineIndex | undefined;
  #run: Promise<void> | undefined;

  constructor(options: SourceConnectionOptions) {
    const { opened, kinds, managedHosts, watchNamespace, clock, log, onChange } = options;
    this.#options = options;
    this.cluster = opened.cluster;
    this.watchNamespace = watchNamespace;
    this.watched = new WatchedSources({
      cluster: opened.cluster,
      sources: kinds,
      managedHosts,
      namespace: this.allNamespaces ? undefined : watchNamespace,
      clock,
      log,
      onChange: (before, after) => {
        this.#index = undefined;
        onChange(before, after);
      },
    });
  }

  get allNamespaces(): boolean {
    return this.watchNamespace === "*";
  }

  /** Whether the connection was closed. Its last known objects remain available. */
  get isClosed(): boolean {
    return this.#stop.signal.aborted;
  }

  /** Watches until the signal aborts, or until `close`. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    this.#run ??= this.watched.run(AbortSignal.any([signal, this.#stop.signal]));
    await this.#run;
  }

  index(): MachineIndex {
    const { source, prefix, kinds } = this.#options;
    const naming = { source, prefix, sources: kinds, allNamespaces: this.allNamespaces };
    this.#index ??= indexMachines(this.watched.objects(), naming);
    return this.#index;
  }

  /** Whether availability has changed since the last call in a way that changes the index. */
  look(): boolean {
    const isNew = this.watched.look();
    if (isNew) this.#index = undefined;
    return isNew;
  }

  /** Runs work with the connection, which stays open until the work has ended. */
  async use<T>(work: (cluster: Cluster) => Promise<T>): Promise<T> {
    const reading = work(this.cluster);
    this.#reads.add(reading);
    try {
      return await reading;
    } finally {
      this.#reads.delete(reading);
    }
  }

  /** Ends the watches at once, waits for reads in flight, and closes the connection. */
  async close(): Promise<void> {
    this.#stop.abort();
    await Promise.allSettled([this.#run, ...this.#reads]);
    await this.#options.opened.close();
  }
}
