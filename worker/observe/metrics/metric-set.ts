import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { definitions, type MetricDefinition, type MetricKey } from "./definitions.ts";
import { labelText, labelValues, NONE, OTHER } from "./labels.ts";

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
  readonly #counters = new Map<string, Counter>();
  readonly #gauges = new Map<string, Gauge>();
  readonly #histograms = new Map<string, Histogram>();
  readonly #actionNames: ReadonlySet<string>;

  constructor(actionNames: readonly string[]) {
    this.#actionNames = new Set(actionNames);
    for (const [key, definition] of Object.entries(definitions)) this.#define(key, definition);
  }

  add<Key extends KeyOf<"counter">>(key: Key, labels: LabelsOf<Key>, amount = 1): void {
    this.#counters.get(key)?.inc(this.#bounded(labels), amount);
  }

  set<Key extends KeyOf<"gauge">>(key: Key, labels: LabelsOf<Key>, value: number): void {
    this.#gauges.get(key)?.set(this.#bounded(labels), value);
  }

  observe<Key extends KeyOf<"histogram">>(key: Key, labels: LabelsOf<Key>, value: number): void {
    this.#histograms.get(key)?.observe(this.#bounded(labels), value);
  }

  /** In the Prometheus text format 0.0.4. */
  text(): Promise<string> {
    return this.#registry.metrics();
  }

  #define(key: string, definition: MetricDefinition): void {
    const { type, name, help, labels, buckets = [] } = definition;
    const common = { name, help, labelNames: labels.map(labelText), registers: [this.#registry] };
    switch (type) {
      case "counter": {
        const counter = new Counter(common);
        if (definition.fromStart) for (const each of combinations(labels)) counter.inc(each, 0);
        this.#counters.set(key, counter);
        return;
      }
      case "gauge": {
        const gauge = new Gauge(common);
        if (definition.fromStart) for (const each of combinations(labels)) gauge.set(each, 0);
        this.#gauges.set(key, gauge);
        return;
      }
      case "histogram":
        this.#histograms.set(key, new Histogram({ ...common, buckets: [...buckets] }));
        return;
      default:
        throw new TypeError(`${type satisfies never} is no kind of metric`);
    }
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
