/** A text format of metrics, by media type. */
export type ExpositionFormat = keyof typeof CONTENT_TYPES;

export const CONTENT_TYPES = {
  "text/plain": "text/plain; version=0.0.4; charset=utf-8",
  "application/openmetrics-text": "application/openmetrics-text; version=1.0.0; charset=utf-8",
} as const;

/** The format that an Accept header (RFC 9110 section 12.5.1) prefers; the older one by default. */
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
 * Converts the Prometheus text format 0.0.4 to OpenMetrics 1.0. They differ in blank lines, the end, and the names of
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
