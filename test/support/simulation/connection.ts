import { safeParse } from "zod/mini";
import type { Cluster, Schema, Selection } from "../../../worker/kubernetes/client/cluster.ts";
import { KubernetesError } from "../../../worker/kubernetes/client/kubernetes-error.ts";
import type { Host } from "./host.ts";
import type { LeaseApi } from "./lease-api.ts";
import type { VirtualTime } from "./virtual-time.ts";

/** What the network does to each thing that is sent. */
export interface Weather {
  /** Milliseconds, one way. */
  latencyMs(): number;
  /** Whether a request does not arrive. */
  losesRequest(): boolean;
  /** Whether what was done is not told. */
  losesAnswer(): boolean;
}

type SimulatedCluster = Pick<
  Cluster,
  "create" | "replace" | "patch" | "remove" | "list" | "watch" | "namespace"
>;

const NAMESPACE = "default";
/** The timeouts of `Cluster`. */
const REQUEST_MS = 30_000;
const WATCH_MS = 290_000;
const DEAD_WATCH_MS = 305_000;

interface OpenWatch {
  isDeaf: boolean;
  readonly end: (error?: KubernetesError) => void;
}

/** A replica's connection to the API: requests arrive later or never; answers may be lost, or arrive after the replica has died. */
export class Connection implements SimulatedCluster {
  readonly namespace = NAMESPACE;
  readonly #api: LeaseApi;
  readonly #host: Host;
  readonly #time: VirtualTime;
  readonly #weather: Weather;
  readonly #watches = new Set<OpenWatch>();
  isCut = false;

  constructor(api: LeaseApi, host: Host, time: VirtualTime, weather: Weather) {
    this.#api = api;
    this.#host = host;
    this.#time = time;
    this.#weather = weather;
  }

  create: SimulatedCluster["create"] = async (_kind, _namespace, object, schema, signal) =>
    parsed(schema, await this.#ask(() => this.#api.create(object), signal));

  replace: SimulatedCluster["replace"] = async (_kind, { name }, object, schema, signal) =>
    parsed(schema, await this.#ask(() => this.#api.replace(name, object), signal));

  patch: SimulatedCluster["patch"] = async (_kind, { name }, { body }, schema, signal) =>
    parsed(
      schema,
      await this.#ask(() => this.#api.patch(name, body as Parameters<LeaseApi["patch"]>[1]), signal),
    );

  remove: SimulatedCluster["remove"] = (_kind, { name }, options, signal) =>
    this.#ask(() => this.#api.remove(name, options), signal);

  list: SimulatedCluster["list"] = async (_kind, selection, schema, signal) => {
    const { items, resourceVersion } = await this.#ask(() => this.#api.list(selection), signal);
    return { items: items.map((item) => parsed(schema, item)), resourceVersion };
  };

  watch: SimulatedCluster["watch"] = (_kind, selection, resourceVersion, callbacks, signal) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    let close = () => {};
    let isOver = false;
    const end = (error?: unknown) => {
      if (isOver) return;
      isOver = true;
      close();
      this.#watches.delete(open);
      signal.removeEventListener("abort", onAbort);
      if (error === undefined) resolve();
      else reject(error);
    };
    const onAbort = () => end(signal.reason);
    const open: OpenWatch = { isDeaf: false, end };
    this.#watches.add(open);
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    // Bytes of one stream come in the order in which they were sent.
    let lastMs = 0;
    const deliver = (work: () => void) => {
      lastMs = Math.max(lastMs, this.#time.nowMs + this.#weather.latencyMs());
      this.#time.after(lastMs - this.#time.nowMs, () =>
        this.#host.run(() => {
          if (!isOver && !open.isDeaf && !this.isCut) work();
        }),
      );
    };
    this.#time.after(this.#weather.latencyMs(), () => {
      if (isOver || this.isCut) return;
      deliver(() => callbacks.onOpen?.());
      close = this.#openWatch(selection, resourceVersion, (work) => deliver(work), callbacks.onEvent, end);
      this.#time.after(WATCH_MS, () => deliver(() => end()));
    });
    void this.#host.clock.sleep(DEAD_WATCH_MS, signal).then(
      () => end(new KubernetesError("timeout", "the watch is dead")),
      () => undefined,
    );
    return promise;
  };

  /** Open watches receive nothing any more, and do not learn of it. */
  deafen(): void {
    for (const watch of this.#watches) watch.isDeaf = true;
  }

  #openWatch(
    selection: Selection,
    resourceVersion: string,
    deliver: (work: () => void) => void,
    onEvent: Parameters<SimulatedCluster["watch"]>[3]["onEvent"],
    end: (error?: unknown) => void,
  ): () => void {
    try {
      return this.#api.watch(selection, resourceVersion, (event) => deliver(() => onEvent(event)));
    } catch (thrown) {
      deliver(() => end(thrown));
      return () => {};
    }
  }

  #ask<T>(work: () => T, signal: AbortSignal): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const timer = new AbortController();
    const onAbort = () => {
      timer.abort();
      reject(signal.reason);
    };
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    this.#host.clock.sleep(REQUEST_MS, timer.signal).then(
      () => reject(new KubernetesError("timeout", "no answer")),
      () => undefined,
    );
    const settle = (done: () => void) => {
      if (this.isCut || this.#weather.losesAnswer()) return;
      this.#time.after(this.#weather.latencyMs(), () =>
        this.#host.run(() => {
          if (this.isCut) return;
          timer.abort();
          signal.removeEventListener("abort", onAbort);
          done();
        }),
      );
    };
    if (this.isCut || this.#weather.losesRequest()) return promise;
    // It is on its way, whatever becomes of who sent it.
    this.#time.after(this.#weather.latencyMs(), () => {
      try {
        const done = work();
        settle(() => resolve(done));
      } catch (thrown) {
        settle(() => reject(thrown));
      }
    });
    return promise;
  }
}

function parsed<T>(schema: Schema<T>, value: unknown): T {
  const result = safeParse(schema, value);
  if (!result.success) throw new KubernetesError("unexpected", "not an object that was asked for");
  return result.data;
}
