import { randomBytes } from "node:crypto";
import * as z from "zod/mini";
import type { Clock } from "../../../shared/clock.ts";
import { logOutage } from "../../../shared/log-outage.ts";
import type { Logger } from "../../../shared/logger.ts";
import { Notifier } from "../../../shared/notifier.ts";
import { shortened } from "../../../shared/printable.ts";
import { textOf } from "../../../shared/text-of.ts";
import type { Cluster } from "../client/cluster.ts";
import { KINDS, keyOf, type ObjectName } from "../client/kinds.ts";
import { isKubernetesError } from "../client/kubernetes-error.ts";

/** The `involvedObject` of an Event. */
export interface ObjectReference extends ObjectName {
  readonly apiVersion: string;
  readonly kind: string;
  readonly uid: string;
}

export interface ObjectEvent {
  readonly object: ObjectReference;
  readonly type: "Normal" | "Warning";
  /** One word in upper camel case. */
  readonly reason: string;
  readonly message: string;
}

export interface ObjectEventsOptions {
  readonly cluster: Cluster;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A written Event, whose count increases with each equal one. */
interface Series {
  readonly name: string;
  readonly count: number;
}

/** The Events that were written about one object. */
interface Written {
  readonly sinceMs: number;
  /** The Events, by type, reason and message. */
  readonly series: Map<string, Series>;
}

const COMPONENT = "pbnj-worker";
/** The limit of client-go's recorder. */
const LONGEST_MESSAGE = 1_024;
/** How long an API server keeps an Event (`--event-ttl`). */
const KEPT_MS = 60 * 60_000;
/** The most different Events about one object within that time; others are dropped. */
const MOST_SERIES = 20;
const MOST_OBJECTS = 10_000;
const MOST_PENDING = 1_000;
const LONGEST_NAME = 200;

/** Writes Events about objects of the worker's cluster. Like Kubernetes' own components, it drops an Event that cannot be written. */
export class ObjectEvents {
  readonly #options: ObjectEventsOptions;
  readonly #pending: ObjectEvent[] = [];
  readonly #notifier = new Notifier();
  /** The Events of each object, by its UID, the oldest object first. */
  readonly #written = new Map<string, Written>();
  #isFailing = false;

  constructor(options: ObjectEventsOptions) {
    this.#options = options;
  }

  /** Queues the Event, which `run` writes. */
  add(event: ObjectEvent): void {
    if (this.#pending.length >= MOST_PENDING) return;
    this.#pending.push(event);
    this.#notifier.notify();
  }

  /** Runs until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    while (!signal.aborted) {
      const event = this.#pending.shift();
      if (!event) {
        await this.#notifier.wait(Number.POSITIVE_INFINITY, clock, signal);
        continue;
      }
      try {
        await this.#write(event, signal);
        this.#isFailing = false;
      } catch (thrown) {
        if (signal.aborted) return;
        const { kind, ...name } = event.object;
        const fields = { object: `${kind} ${keyOf(name)}`, error: textOf(thrown) };
        logOutage(log, !this.#isFailing, fields, "event not written");
        this.#isFailing = true;
      }
    }
  }

  async #write(event: ObjectEvent, signal: AbortSignal): Promise<void> {
    const { object, type, reason } = event;
    const message = shortened(event.message, LONGEST_MESSAGE);
    const { series } = this.#about(object.uid);
    const key = JSON.stringify([type, reason, message]);
    const known = series.get(key);
    if (known) {
      const count = known.count + 1;
      series.set(key, { ...known, count });
      if (await this.#setCount(object, known.name, count, signal)) return;
    } else if (series.size >= MOST_SERIES) return;
    const name = `${object.name.slice(0, LONGEST_NAME).replace(/[-.]+$/, "")}.${randomBytes(8).toString("hex")}`;
    const now = this.#now();
    const body = {
      metadata: { name, namespace: object.namespace },
      involvedObject: object,
      type,
      reason,
      message,
      source: { component: COMPONENT },
      reportingComponent: COMPONENT,
      firstTimestamp: now,
      lastTimestamp: now,
      count: 1,
    };
    await this.#options.cluster.create(KINDS.event, object.namespace, body, z.unknown(), signal);
    series.set(key, { name, count: 1 });
  }

  /** Resolves to false if the API server has removed the Event. */
  async #setCount(
    { namespace }: ObjectName,
    name: string,
    count: number,
    signal: AbortSignal,
  ): Promise<boolean> {
    const patch = { type: "merge", body: { count, lastTimestamp: this.#now() } } as const;
    try {
      await this.#options.cluster.patch(KINDS.event, { namespace, name }, patch, z.unknown(), signal);
      return true;
    } catch (thrown) {
      if (isKubernetesError(thrown, "not-found")) return false;
      throw thrown;
    }
  }

  #about(uid: string): Written {
    const nowMs = this.#options.clock.monotonicMs();
    const known = this.#written.get(uid);
    if (known && nowMs - known.sinceMs < KEPT_MS) return known;
    const written = { sinceMs: nowMs, series: new Map<string, Series>() };
    this.#written.delete(uid);
    this.#written.set(uid, written);
    const [oldest] = this.#written.keys();
    if (this.#written.size > MOST_OBJECTS && oldest !== undefined) this.#written.delete(oldest);
    return written;
  }

  #now(): string {
    return new Date(this.#options.clock.now()).toISOString();
  }
}
