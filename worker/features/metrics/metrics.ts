import type { Clock } from "../../../shared/clock.ts";
import type { Route } from "../../listener/http/route.ts";
import type { WorkerFacts } from "../shared/facts.ts";
import { type WorkerObservers, workerObservers } from "../shared/observer.ts";
import { definitions, type MetricDefinition } from "./definitions.ts";
import { CONTENT_TYPES, openMetricsText, preferredFormat } from "./exposition.ts";
import { MetricSet } from "./metric-set.ts";
import { type ActionsWatch, watchActions } from "./watch-actions.ts";
import { type ProcessWatch, watchProcess } from "./watch-process.ts";

export interface MetricsOptions {
  readonly clock: Clock;
  /** The values of the label `action`. */
  readonly actionNames: readonly string[];
}

const all: readonly (readonly [string, MetricDefinition])[] = Object.entries(definitions);

/** The worker's metrics: counts from the start, and reads the worker's state once it runs. */
export class Metrics {
  readonly observer: WorkerObservers;
  readonly #set: MetricSet;
  readonly #actions: ActionsWatch;
  readonly #process: ProcessWatch;

  constructor({ clock, actionNames }: MetricsOptions) {
    this.#set = new MetricSet(actionNames);
    this.#actions = watchActions(this.#set, clock);
    this.#process = watchProcess(this.#set);
    const watching = all.flatMap(([key, metric]) =>
      "watch" in metric ? [metric.watch(this.#set.recorderOf(key), clock)] : [],
    );
    this.observer = workerObservers(
      [{ action: (event) => this.#actions.onAction(event) }, ...watching],
      (thrown) => {
        throw thrown;
      },
    );
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
    this.#actions.sample();
    await Promise.all([
      this.#process.sample(),
      ...all.map(([key, metric]) => this.#read(key, metric, facts)),
    ]);
    return this.#set.text();
  }

  async #read(key: string, metric: MetricDefinition, facts: WorkerFacts): Promise<void> {
    if (!("read" in metric)) return;
    const read = await metric.read(facts);
    const values = typeof read === "number" ? [[{}, read] as const] : (read ?? []);
    const record = this.#set.recorderOf(key);
    for (const [labels, value] of values) record(labels, value);
  }
}
