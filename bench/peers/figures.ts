import { METRICS, type Metric, type Spread } from "../../scripts/performance/peer-report.ts";
import { median } from "../figures.ts";

/** What one run showed: metric and value. */
export type Sample = Readonly<Partial<Record<Metric, number>>>;

/** A subject in a scenario: what was measured, or why it was not. */
export interface Row {
  readonly subject: string;
  readonly runs: number;
  readonly figures: Readonly<Partial<Record<Metric, Spread>>>;
  /** `missing`, `not offered` or `failed`, with the reason; or a remark. */
  readonly note?: string;
}

export interface Subject {
  readonly name: string;
  /** One run; the round is also the seed of what is left to chance. */
  measure(round: number): Promise<Sample>;
}

export interface Rounds {
  readonly rounds: number;
  /** Whether a round that only fills caches comes first. */
  readonly warmUp: boolean;
  /** No round begins after it. */
  readonly deadline: AbortSignal;
}

/**
 * Each subject once per round, in an order that turns around every round, so that what disturbs one disturbs all. `ratio` is of
 * the same round: wall time by that of the first subject. A subject that fails is not asked again.
 */
export async function alternate(subjects: readonly Subject[], options: Rounds): Promise<readonly Row[]> {
  const samples = subjects.map((): Sample[] => []);
  const failures = subjects.map((): string | undefined => undefined);
  for (let round = options.warmUp ? 0 : 1; round <= options.rounds; round += 1) {
    if (options.deadline.aborted) break;
    const order = [...subjects.keys()];
    const measured: (Sample | undefined)[] = [];
    for (const index of round % 2 === 0 ? order : order.toReversed()) {
      if (failures[index] !== undefined) continue;
      try {
        measured[index] = await subjects[index]?.measure(round);
      } catch (thrown) {
        failures[index] = oneLine(thrown);
      }
    }
    if (round === 0) continue;
    const baseMs = measured[0]?.wallMs;
    for (const [index, sample] of measured.entries()) {
      if (!sample) continue;
      const ratio =
        index === 0 || baseMs === undefined || sample.wallMs === undefined
          ? {}
          : { ratio: sample.wallMs / baseMs };
      samples[index]?.push({ ...sample, ...ratio });
    }
  }
  return subjects.map(({ name }, index) => {
    const own = samples[index] ?? [];
    const failure = failures[index];
    const note =
      failure === undefined
        ? own.length === 0
          ? "not measured: time is up"
          : undefined
        : `failed: ${failure}`;
    return { subject: name, runs: own.length, figures: spreads(own), ...(note !== undefined && { note }) };
  });
}

/** The spread of each metric in the samples. */
export function spreads(samples: readonly Sample[]): Row["figures"] {
  const metrics = Object.keys(METRICS) as Metric[];
  return Object.fromEntries(
    metrics.flatMap((metric) => {
      const values = samples.flatMap((sample) => sample[metric] ?? []);
      return values.length === 0 ? [] : [[metric, spreadOf(values)]];
    }),
  );
}

export function spreadOf(values: readonly number[]): Spread {
  return { median: median(values), least: Math.min(...values), most: Math.max(...values) };
}

/** Paths of this machine are of no use to a reader. */
export function oneLine(thrown: unknown): string {
  const text = thrown instanceof Error ? thrown.message : String(thrown);
  return text
    .replace(/\s+/g, " ")
    .replace(/\/(tmp|root|home|work)\/\S+/g, "…")
    .trim()
    .slice(0, 160);
}
