export type SpanValue = string | number | boolean;
/** Named as in OpenTelemetry, else below `pbnj.`. Undefined ones are left out. */
export type SpanAttributes = Readonly<Record<string, SpanValue | undefined>>;

/** Span kinds of OpenTelemetry. */
export type SpanKind = "internal" | "client" | "consumer";

export interface SpanStart {
  /** Never a secret, a user name or a session's ID, and of few different values. */
  readonly name: string;
  readonly kind: SpanKind;
  readonly attributes?: SpanAttributes;
}

/** A span in progress. */
export interface OpenSpan {
  /** With an `error.type` it has failed, also where its work does not reject. */
  note(attributes: SpanAttributes): void;
}

/** Records spans; `untraced` records nothing. */
export interface Tracer {
  /** Runs `work` as a span below the one it is called in. If it rejects, the span fails with the class of the error. */
  span<T>(start: SpanStart, work: (span: OpenSpan) => Promise<T>): Promise<T>;
}

const unseen: OpenSpan = { note: () => undefined };

/** Records nothing. */
export const untraced: Tracer = { span: (_, work) => work(unseen) };

/** A span that has ended, ready to be exported. */
export interface FinishedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string | undefined;
  readonly name: string;
  readonly kind: SpanKind;
  /** The wall clock's, milliseconds since the epoch, with fractions. */
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, SpanValue>>;
  /** Present where it failed; the reason may be empty. */
  readonly failure?: string;
}
