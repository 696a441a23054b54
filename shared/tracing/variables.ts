/** An action's or a worker's environment. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The variable by which a worker asks an action for its spans: with `stdout` they are lines there, OTLP as JSON, before the
 * result. So an action needs no way to the collector and none of its secrets.
 */
export const ACTION_TRACES = "PBNJ_ACTION_TRACES";
export const ON_STDOUT = "stdout";

/** How a line of spans begins. */
const SPANS_LINE = '{"resourceSpans":[';

/** Where traces go, if anywhere; an empty variable counts as not set (OpenTelemetry's environment variables). */
export function tracesEndpoint(env: Environment): string | undefined {
  if (env["OTEL_SDK_DISABLED"]?.trim().toLowerCase() === "true") return undefined;
  if (env["OTEL_TRACES_EXPORTER"]?.trim() === "none") return undefined;
  const own = env["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"]?.trim();
  if (own) return own;
  const base = env["OTEL_EXPORTER_OTLP_ENDPOINT"]?.trim();
  return base ? `${base.replace(/\/$/, "")}/v1/traces` : undefined;
}

/** Default `http/protobuf`, as in the standard. */
export function tracesProtocol(env: Environment): string {
  const own = env["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"]?.trim();
  return own || env["OTEL_EXPORTER_OTLP_PROTOCOL"]?.trim() || "http/protobuf";
}

export function isSpansLine(line: string): boolean {
  return line.startsWith(SPANS_LINE);
}

/** `key1=value1,key2=value2`, percent-encoded, as the standard has headers and resource attributes. */
export function parseKeyValues(text: string | undefined): Readonly<Record<string, string>> {
  const pairs = (text ?? "").split(",").map((pair): readonly [key: string, value: string] => {
    const equals = pair.indexOf("=");
    return [pair.slice(0, Math.max(equals, 0)).trim(), decoded(pair.slice(equals + 1).trim())];
  });
  return Object.fromEntries(pairs.filter(([key]) => key !== ""));
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
