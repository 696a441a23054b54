import * as z from "zod/mini";
import { type Backoff, backoffMs } from "../../../shared/backoff.ts";
import type { Clock } from "../../../shared/clock.ts";
import { logOutage } from "../../../shared/log-outage.ts";
import type { Logger } from "../../../shared/logger.ts";
import { textOf } from "../../../shared/text-of.ts";
import type { Selection, WatchedCluster } from "./cluster.ts";
import { type Kind, keyOf, type ObjectName, resourceName } from "./kinds.ts";
import { isKubernetesError, KubernetesError } from "./kubernetes-error.ts";

export type Change<T> =
  | { readonly kind: "set"; readonly name: ObjectName; readonly value: T; readonly before: T | undefined }
  | { readonly kind: "gone"; readonly name: ObjectName; readonly before: T };

interface WatchOptions<T> {
  readonly cluster: WatchedCluster;
  readonly kind: Kind;
  readonly selection: Selection;
  /** Returns the part of an object to keep; undefined drops the object. */
  readonly project: (object: unknown, name: ObjectName) => T | undefined;
  /** Called when the kind of `state` changes. Must not throw. */
  readonly onState?: (state: WatchState) => void;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface WatchedObjectsOptions<T> extends WatchOptions<T> {
  /** Called in order, including for the first list. Must not throw. */
  readonly onChange?: (change: Change<T>) => void;
}

/** The state of a watch: `waiting` for the first list, `watching` every change, or `failing`, when objects may be stale. */
export type WatchState =
  | { readonly kind: "waiting" | "watching" }
  | { readonly kind: "failing"; readonly error: KubernetesError };

const RETRY: Backoff = { firstMs: 500, maxMs: 30_000, jitter: 0.5 };
/** The backoff for failures that only an operator can fix, such as a missing right. */
const OPERATOR_RETRY: Backoff = { firstMs: 5_000, maxMs: 60_000, jitter: 0.3 };
/** A watch that ends sooner is resumed only after a pause: an API server that is shutting down ends new watches at once. */
const SHORT_WATCH_MS = 1_000;

const Named = z.object({
  metadata: z.object({
    name: z.string(),
    namespace: z.optional(z.string()),
    resourceVersion: z.optional(z.string()),
  }),
});

/**
 * A cache of the objects of one kind: listed once, then watched. A watch that ends is resumed. After 410 (expired) the
 * objects are listed again and the difference is reported as changes, so that none is missed.
 */
export class WatchedObjects<T> {
  readonly #options: WatchedObjectsOptions<T>;
  readonly #objects = new Map<string, { readonly name: ObjectName; readonly value: T }>();
  readonly #synced = Promise.withResolvers<void>();
  #state: WatchState = { kind: "waiting" };
  #isSynced = false;
  #resourceVersion: string | undefined;

  constructor(options: WatchedObjectsOptions<T>) {
    this.#options = options;
  }

  get state(): WatchState {
    return this.#state;
  }

  /** Resolves after the first list; rejects with the signal's reason if `run` ends before that. */
  get synced(): Promise<void> {
    return this.#synced.promise;
  }

  get isSynced(): boolean {
    return this.#isSynced;
  }

  get size(): number {
    return this.#objects.size;
  }

  get(name: ObjectName): T | undefined {
    return this.#objects.get(keyOf(name))?.value;
  }

  *values(): IterableIterator<T> {
    for (const { value } of this.#objects.values()) yield value;
  }

  /** Runs until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    // Without this, a rejection that nothing awaits would end the process.
    this.#synced.promise.catch(() => undefined);
    const { clock, log, kind } = this.#options;
    for (let failures = 0; !signal.aborted; ) {
      const startedMs = clock.monotonicMs();
      const wasShort = () => clock.monotonicMs() - startedMs < SHORT_WATCH_MS;
      try {
        await this.#once(signal, () => {
          if (failures > 0) log.info({ resource: resourceName(kind), failures }, "cluster watch resumed");
          failures = 0;
        });
        if (wasShort()) await clock.sleep(backoffMs(RETRY, 2), signal);
      } catch (thrown) {
        if (signal.aborted) break;
        if (isKubernetesError(thrown, "expired")) {
          this.#resourceVersion = undefined;
          if (failures === 0 && !wasShort()) continue;
        }
        failures += 1;
        const error =
          thrown instanceof KubernetesError
            ? thrown
            : new KubernetesError("unexpected", textOf(thrown), { cause: thrown });
        this.#setState({ kind: "failing", error });
        const waitMs = Math.max(
          backoffMs(error.passing || error.reason === "expired" ? RETRY : OPERATOR_RETRY, failures),
          error.retryAfterMs ?? 0,
        );
        const facts = { resource: resourceName(kind), error: error.message, waitMs };
        logOutage(log, failures === 1, facts, "cluster watch failed, retrying");
        await clock.sleep(waitMs, signal).catch(() => undefined);
      }
    }
    this.#synced.reject(signal.reason);
  }

  #setState(state: WatchState): void {
    const before = this.#state.kind;
    this.#state = state;
    if (state.kind !== before) this.#options.onState?.(state);
  }

  async #once(signal: AbortSignal, onGood: () => void): Promise<void> {
    const { cluster, kind, selection } = this.#options;
    if (this.#resourceVersion === undefined) await this.#list(signal);
    const from = this.#resourceVersion ?? "";
    await cluster.watch(
      kind,
      selection,
      from,
      {
        onOpen: () => {
          this.#setState({ kind: "watching" });
          onGood();
        },
        onEvent: (event) => {
          if (event.type !== "bookmark") {
            const { name, value } = this.#project(event.object);
            this.#put(name, event.type === "set" ? value : undefined);
          }
          if (event.resourceVersion !== "") this.#resourceVersion = event.resourceVersion;
        },
      },
      signal,
    );
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { cluster, kind, selection, onChange } = this.#options;
    // Reduces each page to the kept parts as soon as it is parsed.
    const schema = z.pipe(
      z.unknown(),
      z.transform((object) => this.#project(object)),
    );
    const { items, resourceVersion } = await cluster.list(kind, selection, schema, signal);
    const found = new Set<string>();
    for (const { name, value } of items) {
      found.add(keyOf(name));
      this.#put(name, value);
    }
    for (const [key, { name, value }] of this.#objects) {
      if (found.has(key)) continue;
      this.#objects.delete(key);
      onChange?.({ kind: "gone", name, before: value });
    }
    this.#resourceVersion = resourceVersion;
    this.#isSynced = true;
    this.#synced.resolve();
  }

  #project(object: unknown): { readonly name: ObjectName; readonly value: T | undefined } {
    const parsed = Named.safeParse(object);
    if (!parsed.success) throw new KubernetesError("unexpected", "an object of a watch has no name");
    const { name, namespace = "" } = parsed.data.metadata;
    const objectName = { namespace, name };
    return { name: objectName, value: this.#options.project(object, objectName) };
  }

  /** An undefined value removes the object. */
  #put(name: ObjectName, value: T | undefined): void {
    const key = keyOf(name);
    const before = this.#objects.get(key)?.value;
    if (value !== undefined) {
      this.#objects.set(key, { name, value });
      this.#options.onChange?.({ kind: "set", name, value, before });
    } else if (before !== undefined) {
      this.#objects.delete(key);
      this.#options.onChange?.({ kind: "gone", name, before });
    }
  }
}

/** Watches until `isOver` returns true. Checks after the first list and each change. Rejects with the signal's reason. */
export async function watchUntil<T>(
  options: WatchOptions<T>,
  isOver: (objects: WatchedObjects<T>) => boolean,
  signal: AbortSignal,
): Promise<void> {
  const over = new AbortController();
  const check = () => {
    if (objects.isSynced && isOver(objects)) over.abort();
  };
  const objects = new WatchedObjects<T>({ ...options, onChange: check });
  objects.synced.then(check, () => undefined);
  await objects.run(AbortSignal.any([signal, over.signal]));
  signal.throwIfAborted();
}
