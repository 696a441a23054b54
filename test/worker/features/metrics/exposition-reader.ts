/** One sample as it is written down. */
interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Family {
  readonly type: string;
  readonly help: string;
  readonly samples: readonly Sample[];
}

const NAME = "[a-zA-Z_:][a-zA-Z0-9_:]*";
const LABEL = '[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\\\\n]|\\\\[\\\\"n])*"';
const SAMPLE = new RegExp(`^(${NAME})(?:\\{(${LABEL}(?:,${LABEL})*)\\})? (\\S+)$`);
const SUFFIXES: Readonly<Record<string, readonly string[]>> = {
  counter: [""],
  gauge: [""],
  histogram: ["_bucket", "_sum", "_count"],
};

/**
 * Reads the Prometheus text format 0.0.4 strictly. Throws for what is not in it: a line of another shape, a sample before its
 * description or under a foreign one, a series twice, buckets that go down.
 */
export function readPrometheusText(text: string): ReadonlyMap<string, Family> {
  return read(text, (family) => family);
}

/** Reads OpenMetrics 1.0 in the same way: no blank lines, `# EOF` at the end, counters described without `_total`. */
export function readOpenMetricsText(text: string): ReadonlyMap<string, Family> {
  if (!text.endsWith("\n# EOF\n")) throw new Error("no end");
  const body = text.slice(0, -"# EOF\n".length);
  if (/^\n|\n\n/.test(body)) throw new Error("a blank line");
  return read(body, (family, type) => {
    if (type === "counter" && family.endsWith("_total"))
      throw new Error(`${family} is described with _total`);
    return type === "counter" ? `${family}_total` : family;
  });
}

function read(
  text: string,
  sampleName: (family: string, type: string) => string,
): ReadonlyMap<string, Family> {
  if (!text.endsWith("\n")) throw new Error("no line feed at the end");
  const families = new Map<string, { type: string; help: string; samples: Sample[] }>();
  const seen = new Set<string>();
  let help = { name: "", text: "" };
  let current = "";
  for (const line of text.split("\n").filter((each) => each !== "")) {
    const [, keyword, name = "", rest = ""] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? [];
    if (keyword === "HELP") {
      help = { name, text: rest };
      continue;
    }
    if (keyword === "TYPE") {
      if (help.name !== name || !(rest in SUFFIXES)) throw new Error(`not described: ${line}`);
      current = sampleName(name, rest);
      if (families.has(current)) throw new Error(`described twice: ${line}`);
      families.set(current, { type: rest, help: help.text, samples: [] });
      continue;
    }
    const sample = readSample(line);
    const family = families.get(current);
    const suffixes = SUFFIXES[family?.type ?? ""] ?? [];
    if (!suffixes.some((suffix) => sample.name === current + suffix))
      throw new Error(`in a foreign place: ${line}`);
    const series = line.slice(0, line.lastIndexOf(" "));
    if (seen.has(series)) throw new Error(`twice: ${series}`);
    seen.add(series);
    family?.samples.push(sample);
  }
  for (const [name, family] of families) if (family.type === "histogram") checkBuckets(name, family.samples);
  return families;
}

function readSample(line: string): Sample {
  const [, name, labels = "", number = ""] = SAMPLE.exec(line) ?? [];
  const value = Number(number.replace("+Inf", "Infinity").replace("-Inf", "-Infinity"));
  if (name === undefined || number === "" || Number.isNaN(value)) throw new Error(`no sample: ${line}`);
  const pairs = [...labels.matchAll(/([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g)];
  return { name, labels: Object.fromEntries(pairs.map(([, label = "", text = ""]) => [label, text])), value };
}

/** In each series every bucket holds those below it, and the last one is `+Inf` and all. */
function checkBuckets(name: string, samples: readonly Sample[]): void {
  const keyOf = ({ labels: { le: _, ...others } }: Sample) => JSON.stringify(others);
  const buckets = Map.groupBy(
    samples.filter((sample) => sample.name === `${name}_bucket`),
    keyOf,
  );
  for (const [key, series] of buckets) {
    const sorted = series.every(({ value }, index) => value >= (series[index - 1]?.value ?? 0));
    const last = series.at(-1);
    const count = samples.find((sample) => sample.name === `${name}_count` && keyOf(sample) === key);
    if (!sorted || last?.labels["le"] !== "+Inf" || last.value !== count?.value) {
      throw new Error(`buckets of ${name}${key} do not add up`);
    }
  }
}
