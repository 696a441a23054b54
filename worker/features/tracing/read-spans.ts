import { z } from "zod";
import { KIND_NUMBERS, STATUS_ERROR } from "../../../shared/tracing/otlp-json.ts";
import type { FinishedSpan, SpanKind, SpanValue } from "../../../shared/tracing/tracer.ts";

const LONGEST_NAME = 256;
const LONGEST_VALUE = 1_024;
const MOST_ATTRIBUTES = 64;

const text = (longest: number) => z.string().transform((whole) => whole.slice(0, longest));
const id = (digits: number) => z.string().regex(new RegExp(`^(?!0+$)[0-9a-f]{${digits}}$`));
const Nanoseconds = z
  .string()
  .regex(/^\d{1,19}$/)
  .transform((nanoseconds) => Number(nanoseconds) / 1_000_000);

const AnyValue = z.union([
  z.object({ stringValue: text(LONGEST_VALUE) }).transform(({ stringValue }): SpanValue => stringValue),
  z.object({ boolValue: z.boolean() }).transform(({ boolValue }): SpanValue => boolValue),
  z.object({ intValue: z.coerce.number() }).transform(({ intValue }): SpanValue => intValue),
  z.object({ doubleValue: z.number() }).transform(({ doubleValue }): SpanValue => doubleValue),
]);

const Span = z
  .object({
    traceId: id(32),
    spanId: id(16),
    parentSpanId: id(16).optional(),
    name: text(LONGEST_NAME),
    kind: z.number().optional(),
    startTimeUnixNano: Nanoseconds,
    endTimeUnixNano: Nanoseconds,
    attributes: z
      .array(z.object({ key: text(LONGEST_NAME), value: AnyValue }))
      .transform((all) => all.slice(0, MOST_ATTRIBUTES))
      .prefault([]),
    status: z.object({ code: z.number().optional(), message: text(LONGEST_VALUE).optional() }).prefault({}),
  })
  .transform(
    ({
      parentSpanId,
      kind,
      startTimeUnixNano,
      endTimeUnixNano,
      attributes,
      status,
      ...rest
    }): FinishedSpan => ({
      ...rest,
      parentSpanId,
      kind: kindOf(kind),
      startMs: startTimeUnixNano,
      endMs: endTimeUnixNano,
      attributes: Object.fromEntries(attributes.map(({ key, value }) => [key, value])),
      ...(status.code === STATUS_ERROR ? { failure: status.message ?? "" } : {}),
    }),
  );

const Request = z.object({
  resourceSpans: z.array(z.object({ scopeSpans: z.array(z.object({ spans: z.array(Span) })) })),
});

/** The spans in one line of an action. The line is untrusted, so long values are shortened. Undefined if there are none. */
export function readSpans(line: string): readonly FinishedSpan[] | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  const parsed = Request.safeParse(value);
  if (!parsed.success) return undefined;
  return parsed.data.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans));
}

function kindOf(number: number | undefined): SpanKind {
  if (number === KIND_NUMBERS.client) return "client";
  return number === KIND_NUMBERS.consumer ? "consumer" : "internal";
}
