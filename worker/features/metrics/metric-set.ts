import { Counter, Gauge, Histogram, Registry } from "prom-client";
import {
  type AnyLabels,
  definitions,
  type LabelsOf,
  type MetricDefinition,
  type MetricKey,
  type RecordValue,
} from "./definitions.ts";
import { labelText, labelValues, NONE, OTHER } from "./metric-labels.ts";

/** The metrics of one worker in their own registry. Labels only get values that their definition lists. */
export class MetricSet {
  readonly #registry = new Registry();
  readonly #metrics = new Map<string, Counter | Gauge | Histogram>();
  readonly #actionNames: ReadonlySet<string>;

  constructor(actionNames: readonly string[]) {
    this.#actionNames = new Set(actionNames);
    for (const [key, definition] of Object.entries(definitions)) this.#define(key, definition);
  }

  record<Key extends MetricKey>(
    key: Key,
    labels: LabelsOf<(typeof definitions)[Key]["labels"][number]>,
    value: number,
  ): void {
    this.recorderOf(key)(labels, value);
  }

  recorderOf(key: string): RecordValue<AnyLabels> {
    const metric = this.#metrics.get(key);
    return (labels, value = 1) => {
      const bounded = this.#bounded(labels);
      if (metric instanceof Counter) metric.inc(bounded, value);
      else if (metric instanceof Gauge) metric.set(bounded, value);
      else metric?.observe(bounded, value);
    };
  }

  /** The metrics in the Prometheus text format 0.0.4. */
  text(): Promise<string> {
    return this.#registry.metrics();
  }

  #define(key: string, { type, name, help, labels, buckets = [], fromStart }: MetricDefinition): void {
    const common = { name, help, labelNames: labels.map(labelText), registers: [this.#registry] };
    if (type === "histogram") {
      this.#metrics.set(key, new Histogram({ ...common, buckets: [...buckets] }));
      return;
    }
    const metric = type === "counter" ? new Counter(common) : new Gauge(common);
    if (fromStart) for (const each of combinations(labels)) metric.inc(each, 0);
    this.#metrics.set(key, metric);
  }

  #bounded(given: Readonly<Record<string, string | undefined>>): Record<string, string> {
    const entries = Object.entries(given).map(([label, value = NONE]) => {
      return [labelText(label), this.#isKnown(label, value) ? value : OTHER];
    });
    return Object.fromEntries(entries);
  }

  #isKnown(label: string, value: string): boolean {
    if (label === "action") return this.#actionNames.has(value);
    return labelValues(label)?.includes(value) ?? true;
  }
}

/** Every combination of label values. */
function combinations(names: readonly string[]): readonly Record<string, string>[] {
  return names.reduce<readonly Record<string, string>[]>(
    (known, label) =>
      known.flatMap((each) =>
        (labelValues(label) ?? []).map((value) => ({ ...each, [labelText(label)]: value })),
      ),
    [{}],
  );
}
