/** The environment of an action or a worker. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The variable with which a worker requests an action's spans: with `stdout` they are lines of OTLP JSON there, before the
 * result. The action then needs neither access to the collector nor its secrets.
 */
export const ACTION_TRACES = "PBNJ_ACTION_TRACES";
export const ON_STDOUT = "stdout";

/** The beginning of a line of spans. */
const SPANS_LINE = '{"resourceSpans":[';

/** Returns where traces are sent, if anywhere. An empty variable counts as not set (OpenTelemetry's environment variables). */
export function tracesEndpoint(env: Environment): string | undefined {
  if (env["OTEL_SDK_DISABLED"]?.trim().toLowerCase() === "true") return undefined;
  if (env["OTEL_TRACES_EXPORTER"]?.trim() === "none") return undefined;
  const own = env["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"]?.trim();
  if (own) return own;
  const base = env["OTEL_EXPORTER_OTLP_ENDPOINT"]?.trim();
  return base ? `${base.replace(/\/$/, "")}/v1/traces` : undefined;
}

/** Returns the protocol. Defaults to `http/protobuf`, as in the standard. */
export function tracesProtocol(env: Environment): string {
  const own = env["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"]?.trim();
  return own || env["OTEL_EXPORTER_OTLP_PROTOCOL"]?.trim() || "http/protobuf";
}

export function isSpansLine(line: string): boolean {
  return line.startsWith(SPANS_LINE);
}

/** Parses `key1=value1,key2=value2` with percent-encoding, the standard's form of headers and resource attributes. */
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
