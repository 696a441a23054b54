export type SpanValue = string | number | boolean;
/** By OpenTelemetry's names where it has one, below `pbnj.` otherwise. What is undefined is left out. */
export type SpanAttributes = Readonly<Record<string, SpanValue | undefined>>;

/** OpenTelemetry's words for which side of a call a span is. */
export type SpanKind = "internal" | "client" | "consumer";

export interface SpanStart {
  /** Never a secret, a user name or a session's ID, and of few different values. */
  readonly name: string;
  readonly kind: SpanKind;
  readonly attributes?: SpanAttributes;
}

/** A span that goes on. */
export interface OpenSpan {
  /** With an `error.type` it has failed, also where its work does not reject. */
  note(attributes: SpanAttributes): void;
}

/** What work tells of itself, for a trace. Who does not trace gives `untraced`. */
export interface Tracer {
  /** Runs `work` as a span below the one it is called in. Where it rejects, the span has failed with the error's class. */
  span<T>(start: SpanStart, work: (span: OpenSpan) => Promise<T>): Promise<T>;
}

const unseen: OpenSpan = { note: () => undefined };

/** Nobody traces. */
export const untraced: Tracer = { span: (_, work) => work(unseen) };
