export type SpanValue = string | number | boolean;
/** Attributes with names of OpenTelemetry, or below `pbnj.`. Undefined ones are left out. */
export type SpanAttributes = Readonly<Record<string, SpanValue | undefined>>;

/** The span kinds of OpenTelemetry. */
export type SpanKind = "internal" | "client" | "consumer";

export interface SpanStart {
  /** The name, which has few different values and never contains a secret, a user name or the ID of a session. */
  readonly name: string;
  readonly kind: SpanKind;
  readonly attributes?: SpanAttributes;
}

/** A span in progress. */
export interface OpenSpan {
  /** Adds attributes. With an `error.type` the span has failed, even if its work does not reject. */
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
  /** The start by the wall clock in milliseconds since the epoch, with fractions. */
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, SpanValue>>;
  /** Present if the span failed. The reason may be empty. */
  readonly failure?: string;
}
