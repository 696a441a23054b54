import type { Clock } from "../../../shared/clock.ts";
import type { Route } from "../../listener/http/route.ts";
import type { WorkerFacts } from "../shared/facts.ts";
import { type WorkerObservers, workerObservers } from "../shared/observer.ts";
import { definitions, type MetricDefinition } from "./definitions.ts";
import { MetricSet } from "./metric-set.ts";
import { type ActionsWatch, watchActions } from "./watch-actions.ts";
import { type ProcessWatch, watchProcess } from "./watch-process.ts";

/** A text format of metrics, by media type. */
type ExpositionFormat = keyof typeof CONTENT_TYPES;

const CONTENT_TYPES = {
  "text/plain": "text/plain; version=0.0.4; charset=utf-8",
  "application/openmetrics-text": "application/openmetrics-text; version=1.0.0; charset=utf-8",
} as const;

/** The format that an Accept header (RFC 9110 section 12.5.1) prefers. The default is the older one. */
export function preferredFormat(accept = ""): ExpositionFormat {
  const weights = new Map(accept.split(",").map(weightOf).toReversed());
  const open = weights.get("application/openmetrics-text") ?? 0;
  const plain = weights.get("text/plain") ?? 0;
  return open > 0 && open >= plain ? "application/openmetrics-text" : "text/plain";
}

function weightOf(range: string): readonly [type: string, weight: number] {
  const [type = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
  const quality = parameters.find((parameter) => parameter.startsWith("q="))?.slice(2) ?? "1";
  const weight = Number(quality);
  return [type, Number.isFinite(weight) ? weight : 0];
}

/**
 * Converts the Prometheus text format 0.0.4 to OpenMetrics 1.0. The formats differ in blank lines, the end, and the names of
 * counters, which lack `_total` in descriptions. The client library would rename its metrics permanently.
 */
export function openMetricsText(text: string): string {
  const lines = text.split("\n").filter((line) => line !== "");
  const counters = new Set(lines.flatMap((line) => /^# TYPE (\S+)_total counter$/.exec(line)?.[1] ?? []));
  const described = lines.map((line) => {
    const [whole, keyword, family, rest] = /^# (HELP|TYPE) (\S+)_total (.*)$/.exec(line) ?? [];
    return whole !== undefined && family !== undefined && counters.has(family)
      ? `# ${keyword} ${family} ${rest}`
      : line;
  });
  return `${described.join("\n")}\n# EOF\n`;
}

export interface MetricsOptions {
  readonly clock: Clock;
  /** The values of the label `action`. */
  readonly actionNames: readonly string[];
}

const all: readonly (readonly [string, MetricDefinition])[] = Object.entries(definitions);

/** The worker's metrics. They count from the start, and read the worker's state once it runs. */
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
