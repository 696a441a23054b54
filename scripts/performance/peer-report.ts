import { z } from "zod";

export const METRICS = {
  wallMs: { title: "wall", unit: "ms" },
  ratio: { title: "times ours", unit: "x" },
  firstPacketMs: { title: "first packet", unit: "ms" },
  cpuMs: { title: "CPU", unit: "ms" },
  peakBytes: { title: "peak memory", unit: "MiB" },
  requests: { title: "requests", unit: "" },
  connections: { title: "connections", unit: "" },
  packets: { title: "packets", unit: "" },
  bytes: { title: "bytes", unit: "" },
  perActionMs: { title: "per action", unit: "ms" },
  apiRequests: { title: "API requests", unit: "" },
} as const;
export type Metric = keyof typeof METRICS;

export interface Spread {
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

const SpreadSchema = z.object({ median: z.number(), least: z.number(), most: z.number() });
const metricNames = Object.keys(METRICS) as [Metric, ...Metric[]];

/** What `bench/results/peers.json` holds. */
export const Report = z.object({
  sections: z.array(
    z.object({
      name: z.string(),
      title: z.string(),
      date: z.string(),
      machine: z.string(),
      versions: z.record(z.string(), z.string()),
      scenarios: z.array(
        z.object({
          title: z.string(),
          charted: z.boolean(),
          rows: z.array(
            z.object({
              subject: z.string(),
              runs: z.int(),
              figures: z.partialRecord(z.enum(metricNames), SpreadSchema),
              note: z.string().optional(),
            }),
          ),
        }),
      ),
    }),
  ),
});
export type Report = z.infer<typeof Report>;
export type ReportSection = Report["sections"][number];
export type Scenario = ReportSection["scenarios"][number];

/** A figure with its unit, and the spread where there is one. */
export function cell(metric: Metric, spread: Spread | undefined): string {
  if (!spread) return NO_FIGURE;
  const [least, most] = [inUnit(metric, spread.least), inUnit(metric, spread.most)];
  const middle = medianCell(metric, spread);
  return least === most ? middle : `${middle} (${least}–${most})`;
}

/** A figure with its unit. */
export function medianCell(metric: Metric, spread: Spread | undefined): string {
  return spread ? `${inUnit(metric, spread.median)} ${METRICS[metric].unit}`.trim() : NO_FIGURE;
}

export const NO_FIGURE = "–";
const inUnit = (metric: Metric, value: number) =>
  digits(METRICS[metric].unit === "MiB" ? value / 2 ** 20 : value);

export function digits(value: number): string {
  return Number.isInteger(value) || Math.abs(value) >= 99.5 ? value.toFixed(0) : value.toPrecision(2);
}
