import { type Environment, tracesEndpoint, tracesProtocol } from "../../../shared/tracing/variables.ts";

/** The settings that OpenTelemetry's SDK does not read itself; the exporter reads its own variables. */
export interface TraceSettings {
  readonly protocol: "http/protobuf" | "http/json";
  /** The fraction of sampled traces, from 0 to 1. */
  readonly ratio: number;
  readonly batch: {
    readonly scheduledDelayMillis: number;
    readonly exportTimeoutMillis: number;
    readonly maxQueueSize: number;
    readonly maxExportBatchSize: number;
  };
}

export type TraceChoice =
  | { readonly kind: "off" }
  /** The variables request something unsupported; the reason is one line that says what to use. */
  | { readonly kind: "refused"; readonly reason: string }
  | { readonly kind: "on"; readonly settings: TraceSettings; readonly warnings: readonly string[] };

/** Reads OpenTelemetry's environment variables. Invalid values have their default, as its specification requires. */
export function traceSettings(env: Environment): TraceChoice {
  const endpoint = tracesEndpoint(env);
  if (endpoint === undefined) return { kind: "off" };
  const refused = (reason: string): TraceChoice => ({ kind: "refused", reason });
  const exporters = (env["OTEL_TRACES_EXPORTER"]?.trim() || "otlp").split(",").map((name) => name.trim());
  if (!exporters.includes("otlp")) {
    return refused(`OTEL_TRACES_EXPORTER ${exporters.join()} is not offered: use otlp or none`);
  }
  const protocol = tracesProtocol(env);
  if (protocol !== "http/protobuf" && protocol !== "http/json") {
    const use = "use http/protobuf or http/json, whose port at a collector is 4318";
    return refused(`OTEL_EXPORTER_OTLP_PROTOCOL ${protocol} is not offered: ${use}`);
  }
  const url = URL.parse(endpoint);
  if (url?.protocol !== "http:" && url?.protocol !== "https:") {
    return refused("OTEL_EXPORTER_OTLP_ENDPOINT is not an http or https URL, such as http://127.0.0.1:4318");
  }
  const { ratio, warning } = samplingOf(env);
  const batch = {
    scheduledDelayMillis: count(env["OTEL_BSP_SCHEDULE_DELAY"], 5_000),
    exportTimeoutMillis: count(env["OTEL_BSP_EXPORT_TIMEOUT"], 30_000),
    maxQueueSize: count(env["OTEL_BSP_MAX_QUEUE_SIZE"], 2_048),
    maxExportBatchSize: count(env["OTEL_BSP_MAX_EXPORT_BATCH_SIZE"], 512),
  };
  return { kind: "on", settings: { protocol, ratio, batch }, warnings: warning ? [warning] : [] };
}

/** Traces start here, so a parent-based sampler has no parent to follow. */
function samplingOf(env: Environment): { readonly ratio: number; readonly warning?: string } {
  const sampler = env["OTEL_TRACES_SAMPLER"]?.trim() || "parentbased_always_on";
  switch (sampler.replace(/^parentbased_/, "")) {
    case "always_on":
      return { ratio: 1 };
    case "always_off":
      return { ratio: 0 };
    case "traceidratio": {
      const ratio = Number(env["OTEL_TRACES_SAMPLER_ARG"]?.trim() || 1);
      if (ratio >= 0 && ratio <= 1) return { ratio };
      return {
        ratio: 1,
        warning: "OTEL_TRACES_SAMPLER_ARG is not a number from 0 to 1: every action is traced",
      };
    }
    default:
      return { ratio: 1, warning: `OTEL_TRACES_SAMPLER ${sampler} is not offered: every action is traced` };
  }
}

function count(text: string | undefined, fallback: number): number {
  const value = Number(text?.trim() || fallback);
  return Number.isInteger(value) && value > 0 ? value : fallback;
}
