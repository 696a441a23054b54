import type { Clock } from "../../../shared/clock.ts";
import { version } from "../../../shared/version.ts";
import { settingsThatDiffer } from "../../core/action/drift-seen.ts";
import type { Observer, WorkerFacts } from "../../core/action/observer.ts";
import type { Route } from "../../listener/http/route.ts";
import { CONTENT_TYPES, openMetricsText, preferredFormat } from "./exposition.ts";
import { labelValues } from "./metric-labels.ts";
import { MetricSet } from "./metric-set.ts";
import { type ProcessWatch, watchProcess } from "./watch-process.ts";
import { type WorkerWatch, watchWorker } from "./watch-worker.ts";

export interface MetricsOptions {
  readonly clock: Clock;
  /** The values of the label `action`. */
  readonly actionNames: readonly string[];
}

/** The worker's metrics: counts from the start, and reads the worker's state once it runs. */
export class Metrics {
  readonly #set: MetricSet;
  readonly #worker: WorkerWatch;
  readonly #process: ProcessWatch;

  constructor({ clock, actionNames }: MetricsOptions) {
    this.#set = new MetricSet(actionNames);
    this.#set.set("build", { version, node_version: process.version }, 1);
    this.#worker = watchWorker(this.#set, clock);
    this.#process = watchProcess(this.#set);
  }

  get observer(): Partial<Observer> {
    return this.#worker.observer;
  }

  route(facts: WorkerFacts): Route {
    let rendering: Promise<string> | undefined;
    return {
      path: "/metrics",
      handle: async ({ headers }, response) => {
        // Concurrent requests share one result.
        rendering ??= this.#render(facts).finally(() => {
          rendering = undefined;
        });
        const text = await rendering;
        const format = preferredFormat(headers.accept);
        response.setHeader("Content-Type", CONTENT_TYPES[format]);
        response.setHeader("Vary", "Accept");
        response.end(format === "text/plain" ? text : openMetricsText(text));
      },
    };
  }

  close(): void {
    this.#process.close();
  }

  async #render(facts: WorkerFacts): Promise<string> {
    const set = this.#set;
    this.#worker.sample();
    const { limit, taken } = facts.slots();
    set.set("slots", {}, limit);
    set.set("slotsTaken", {}, taken);
    set.set("machines", {}, facts.machines().length);
    set.set("unfinished", {}, facts.unfinished());
    set.set("hardwareKnown", {}, facts.hardwareKnown?.() ?? 0);
    setDrift(set, facts);
    if (facts.connected) set.set("connected", {}, facts.connected() ? 1 : 0);
    const cluster = facts.cluster?.();
    if (cluster) set.set("unusable", {}, cluster.unusableMachines);
    for (const { name: source, machines, problems } of cluster?.sources ?? []) {
      set.set("sourceUp", { source }, problems.length === 0 ? 1 : 0);
      set.set("sourceMachines", { source }, machines);
    }
    if (cluster?.leader) set.set("leader", { lease: cluster.leader.lease }, cluster.leader.isLeading ? 1 : 0);
    const [findings] = await Promise.all([facts.health?.(facts), this.#process.sample()]);
    for (const { name, ok } of findings ?? []) set.set("checks", { check: name }, ok ? 1 : 0);
    return set.text();
  }
}

function setDrift(set: MetricSet, { machines, machineDrift }: WorkerFacts): void {
  const seen = machines().flatMap((name) => machineDrift?.(name) ?? []);
  const differing = seen.flatMap(settingsThatDiffer);
  for (const setting of labelValues("setting") ?? []) {
    set.set("drift", { setting }, differing.filter((one) => one === setting).length);
  }
  set.set("driftCompared", {}, seen.filter(({ comparedAt }) => comparedAt).length);
  set.set(
    "driftFailing",
    {},
    seen.filter(({ error, enforcement }) => error || enforcement?.state === "stopped").length,
  );
}
