import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { definitions, type MetricDefinition, type MetricKey } from "./definitions.ts";
import { labelText, labelValues, NONE, OTHER } from "./metric-labels.ts";

type KeyOf<Type extends MetricDefinition["type"]> = {
  [Key in MetricKey]: (typeof definitions)[Key]["type"] extends Type ? Key : never;
}[MetricKey];

/** A value per label of the metric; undefined becomes `none`. */
export type LabelsOf<Key extends MetricKey> = Readonly<
  Record<(typeof definitions)[Key]["labels"][number], string | undefined>
>;

/** The metrics of one worker, in a registry of their own. Labels only get values that their definition lists. */
export class MetricSet {
  readonly #registry = new Registry();
  readonly #metrics = new Map<string, Counter | Gauge | Histogram>();
  readonly #actionNames: ReadonlySet<string>;

  constructor(actionNames: readonly string[]) {
    this.#actionNames = new Set(actionNames);
    for (const [key, definition] of Object.entries(definitions)) this.#define(key, definition);
  }

  add<Key extends KeyOf<"counter">>(key: Key, labels: LabelsOf<Key>, amount = 1): void {
    const metric = this.#metrics.get(key);
    if (metric instanceof Counter) metric.inc(this.#bounded(labels), amount);
  }

  set<Key extends KeyOf<"gauge">>(key: Key, labels: LabelsOf<Key>, value: number): void {
    const metric = this.#metrics.get(key);
    if (metric instanceof Gauge) metric.set(this.#bounded(labels), value);
  }

  observe<Key extends KeyOf<"histogram">>(key: Key, labels: LabelsOf<Key>, value: number): void {
    const metric = this.#metrics.get(key);
    if (metric instanceof Histogram) metric.observe(this.#bounded(labels), value);
  }

  /** In the Prometheus text format 0.0.4. */
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
