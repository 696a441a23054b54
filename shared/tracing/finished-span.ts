import type { SpanKind, SpanValue } from "./tracer.ts";

/** A span that has ended, ready to be exported. */
export interface FinishedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: SpanKind;
  /** The wall clock's, milliseconds since the epoch, with fractions. */
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, SpanValue>>;
  /** Present where it failed; the reason may be empty. */
  readonly failure?: string;
}
