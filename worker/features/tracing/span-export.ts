import { hostname } from "node:os";
import { type HrTime, ROOT_CONTEXT, SpanKind, SpanStatusCode, TraceFlags } from "@opentelemetry/api";
import { OTLPExporterBase } from "@opentelemetry/otlp-exporter-base";
import {
  convertLegacyHttpOptions,
  createOtlpHttpExportDelegate,
} from "@opentelemetry/otlp-exporter-base/node-http";
import {
  JsonTraceSerializer,
  ProtobufTraceSerializer,
  TraceExporterMetricsHelper,
} from "@opentelemetry/otlp-transformer";
import {
  detectResources,
  type Resource,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceNameEnvDetector,
} from "@opentelemetry/resources";
import {
  BatchSpanProcessor,
  type ReadableSpan,
  SamplingDecision,
  type SpanExporter,
  TraceIdRatioBasedSampler,
} from "@opentelemetry/sdk-trace";
import { defined } from "../../../shared/defined.ts";
import type { Logger } from "../../../shared/logger.ts";
import { withTimeout } from "../../../shared/timeout.ts";
import type { FinishedSpan } from "../../../shared/tracing/tracer.ts";
import { version } from "../../../shared/version.ts";
import type { SpanSink } from "./action-traces.ts";
import type { TraceSettings } from "./trace-settings.ts";

export interface SpanExport extends SpanSink {
  /** Sends the queued spans, within a few seconds. Never rejects. */
  close(): Promise<void>;
}

const CLOSE_MS = 3_000;
const SERVICE_NAME = "pbnj-worker";
const KINDS = { internal: SpanKind.INTERNAL, client: SpanKind.CLIENT, consumer: SpanKind.CONSUMER };

/**
 * Sends spans to a collector in batches with OpenTelemetry's SDK, which reads the exporter's variables itself: endpoint,
 * headers, timeout, compression, certificates. Logs the first failure and the recovery; spans that the collector rejects
 * or that exceed the queue are dropped.
 */
export function openSpanExport({ protocol, ratio, batch }: TraceSettings, log: Logger): SpanExport {
  const exporter = openExporter(protocol);
  const processor = new BatchSpanProcessor({ ...batch, exporter: told(exporter, log) });
  const sampler = new TraceIdRatioBasedSampler(ratio);
  const resources = describeResources();
  return {
    isSampled: (traceId) =>
      sampler.shouldSample(ROOT_CONTEXT, traceId).decision === SamplingDecision.RECORD_AND_SAMPLED,
    add: (span, from) => processor.onEnd(readable(span, resources[from], `pbnj-worker/${from}`)),
    async close() {
      const shutdown = () => processor.shutdown();
      await withTimeout(CLOSE_MS, new AbortController().signal, shutdown).catch(() => undefined);
    },
  };
}

/** Replaces `@opentelemetry/exporter-trace-otlp-http` and `-proto`, which differ only in the serializer. */
function openExporter(protocol: TraceSettings["protocol"]): SpanExporter {
  const [serializer, mediaType] =
    protocol === "http/json"
      ? [JsonTraceSerializer, "application/json"]
      : [ProtobufTraceSerializer, "application/x-protobuf"];
  const options = convertLegacyHttpOptions({}, "TRACES", "v1/traces", { "Content-Type": mediaType });
  return new OTLPExporterBase(
    createOtlpHttpExportDelegate(
      options,
      serializer,
      "otlp_http_span_exporter",
      TraceExporterMetricsHelper,
      undefined,
    ),
  );
}

/** Wraps an exporter to report when it starts and stops failing. */
function told(exporter: SpanExporter, log: Logger): SpanExporter {
  let failing = false;
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        if (result.error && !failing) {
          const error = result.error.message || "refused";
          log.warn({ error }, "trace export failed");
        }
        if (!result.error && failing) log.info({}, "trace export recovered");
        failing = result.error !== undefined;
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
  };
}

/** The worker and the actions are two services with the same attributes. */
function describeResources(): Readonly<Record<"worker" | "action", Resource>> {
  const given = detectResources({ detectors: [resourceAttributesEnvDetector, serviceNameEnvDetector] });
  const worker = resourceFromAttributes({
    "service.name": SERVICE_NAME,
    "service.version": version,
    "host.name": hostname(),
    "process.pid": process.pid,
  }).merge(given);
  const name = worker.attributes["service.name"];
  const action = resourceFromAttributes({ "service.version": version })
    .merge(given)
    .merge(
      resourceFromAttributes({ "service.name": `${typeof name === "string" ? name : SERVICE_NAME}-action` }),
    );
  return { worker, action };
}

function readable(span: FinishedSpan, resource: Resource, scope: string): ReadableSpan {
  const { traceId, spanId, parentSpanId, name, kind, startMs, endMs, attributes, failure } = span;
  const context = (id: string) => ({ traceId, spanId: id, traceFlags: TraceFlags.SAMPLED });
  return {
    name,
    kind: KINDS[kind],
    spanContext: () => context(spanId),
    ...(parentSpanId === undefined ? {} : { parentSpanContext: context(parentSpanId) }),
    startTime: hrTime(startMs),
    endTime: hrTime(endMs),
    duration: hrTime(Math.max(0, endMs - startMs)),
    status:
      failure === undefined
        ? { code: SpanStatusCode.UNSET }
        : { code: SpanStatusCode.ERROR, ...defined({ message: failure || undefined }) },
    attributes: { ...attributes },
    links: [],
    events: [],
    ended: true,
    resource,
    instrumentationScope: { name: scope, version },
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

/** Seconds and nanoseconds, exact to the microsecond. */
function hrTime(ms: number): HrTime {
  const microseconds = Math.round(ms * 1_000);
  return [Math.floor(microseconds / 1_000_000), (microseconds % 1_000_000) * 1_000];
}
