import { describe, expect, test } from "vitest";
import { traceSettings } from "../../../../worker/features/tracing/trace-settings.ts";

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318" };

function settingsOf(env: Readonly<Record<string, string>>) {
  const choice = traceSettings({ ...ENDPOINT, ...env });
  if (choice.kind !== "on") throw new Error(`it is ${choice.kind}`);
  return choice;
}

describe("traces are kept", () => {
  test.each([
    [{}, 1],
    [{ OTEL_TRACES_SAMPLER: "always_on" }, 1],
    [{ OTEL_TRACES_SAMPLER: "parentbased_always_off" }, 0],
    [{ OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "0.25" }, 0.25],
    [{ OTEL_TRACES_SAMPLER: "parentbased_traceidratio" }, 1],
  ])("as the sampler of %j says", (env, ratio) => {
    expect(settingsOf(env)).toMatchObject({ settings: { ratio }, warnings: [] });
  });

  test.each([
    { OTEL_TRACES_SAMPLER: "jaeger_remote" },
    { OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "often" },
  ])("all where the sampler of %j is not understood, and that is said", (env) => {
    const { settings, warnings } = settingsOf(env);

    expect(settings.ratio).toBe(1);
    expect(warnings).toHaveLength(1);
  });
});

test("batches are as the variables say, and as the standard has them where those say nothing sound", () => {
  const { settings } = settingsOf({
    OTEL_BSP_SCHEDULE_DELAY: "100",
    OTEL_BSP_MAX_QUEUE_SIZE: "-1",
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: "many",
  });

  expect(settings.batch).toEqual({
    scheduledDelayMillis: 100,
    exportTimeoutMillis: 30_000,
    maxQueueSize: 2_048,
    maxExportBatchSize: 512,
  });
});

test("the protocol for traces goes before the one for everything", () => {
  const { settings } = settingsOf({
    OTEL_EXPORTER_OTLP_PROTOCOL: "grpc",
    OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: "http/json",
  });

  expect(settings.protocol).toBe("http/json");
});

test("without an endpoint there are no traces, whatever else is said", () => {
  expect(traceSettings({ OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" })).toEqual({ kind: "off" });
});
