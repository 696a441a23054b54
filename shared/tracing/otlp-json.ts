import type { FinishedSpan, SpanKind, SpanValue } from "./tracer.ts";

/** The source of spans. */
export interface SpanSource {
  /** The attributes of the resource, such as `service.name`. */
  readonly resource: Readonly<Record<string, SpanValue>>;
  readonly scope: { readonly name: string; readonly version: string };
}

/** `SpanKind` of opentelemetry/proto/trace/v1. */
export const KIND_NUMBERS: Readonly<Record<SpanKind, number>> = { internal: 1, client: 3, consumer: 5 };
export const STATUS_ERROR = 2;

/** Makes an `ExportTraceServiceRequest` in OTLP/JSON, on one line: IDs are hexadecimal, and times are texts. */
export function otlpJson({ resource, scope }: SpanSource, spans: readonly FinishedSpan[]): string {
  return JSON.stringify({
    resourceSpans: [
      { resource: { attributes: keyValues(resource) }, scopeSpans: [{ scope, spans: spans.map(spanJson) }] },
    ],
  });
}

function spanJson({ startMs, endMs, kind, attributes, failure, ...rest }: FinishedSpan) {
  return {
    ...rest,
    kind: KIND_NUMBERS[kind],
    startTimeUnixNano: nanoseconds(startMs),
    endTimeUnixNano: nanoseconds(endMs),
    attributes: keyValues(attributes),
    status: failure === undefined ? {} : { code: STATUS_ERROR, ...(failure && { message: failure }) },
  };
}

/** With microsecond precision. */
function nanoseconds(ms: number): string {
  return `${Math.round(ms * 1_000)}000`;
}

function keyValues(attributes: Readonly<Record<string, SpanValue>>) {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: anyValue(value) }));
}

function anyValue(value: SpanValue) {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}
