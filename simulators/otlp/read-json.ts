import { z } from "zod";

/** A span in the form that a backend would show. */
export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for the root span of a trace. */
  readonly parentSpanId: string;
  readonly name: string;
  /** The span kind in OTLP: 1 internal, 3 client, 5 consumer. */
  readonly kind: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly failed: boolean;
  readonly message: string;
  readonly service: string;
  readonly resource: Readonly<Record<string, unknown>>;
}

const KeyValues = z
  .array(
    z.object({
      key: z.string(),
      value: z
        .object({
          stringValue: z.string().optional(),
          boolValue: z.boolean().optional(),
          intValue: z.union([z.string(), z.number()]).transform(Number).optional(),
          doubleValue: z.number().optional(),
        })
        .transform((any) => any.stringValue ?? any.boolValue ?? any.intValue ?? any.doubleValue),
    }),
  )
  .transform((all) => Object.fromEntries(all.map(({ key, value }) => [key, value])));

const Span = z.object({
  traceId: z.string().regex(/^[0-9a-f]{32}$/),
  spanId: z.string().regex(/^[0-9a-f]{16}$/),
  parentSpanId: z.string().prefault(""),
  name: z.string().min(1),
  kind: z.number(),
  startTimeUnixNano: z.string().transform((nanoseconds) => Number(nanoseconds) / 1e6),
  endTimeUnixNano: z.string().transform((nanoseconds) => Number(nanoseconds) / 1e6),
  attributes: KeyValues,
  status: z.object({ code: z.number().prefault(0), message: z.string().prefault("") }),
});

const Export = z.object({
  resourceSpans: z.array(
    z.object({
      resource: z.object({ attributes: KeyValues }),
      scopeSpans: z.array(z.object({ spans: z.array(Span) })),
    }),
  ),
});

/** Reads spans. Throws if the body is not OTLP in JSON. */
export function spansOfJson(body: Buffer): readonly CollectedSpan[] {
  return Export.parse(JSON.parse(body.toString("utf8"))).resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map(({ startTimeUnixNano: startMs, endTimeUnixNano: endMs, status, ...span }) => ({
        ...span,
        startMs,
        endMs,
        failed: status.code === 2,
        message: status.message,
        resource: resource.attributes,
        service: String(resource.attributes["service.name"]),
      })),
    ),
  );
}
