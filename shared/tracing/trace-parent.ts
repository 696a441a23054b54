/** The parent of a new span (W3C Trace Context, `traceparent`). */
export interface TraceParent {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
  /** Whether the parent is recorded. If not, the receiver should record nothing. */
  readonly sampled: boolean;
}

/** The names of the environment variables (OpenTelemetry, "Environment Variables as Context Propagation Carriers"). */
export const TRACE_PARENT = "TRACEPARENT";

const FORM = /^(?!ff)[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})(-.*)?$/;

/** Parses a trace parent. Returns undefined if it is invalid, because the standard says to ignore it then. */
export function parseTraceParent(text: string | undefined): TraceParent | undefined {
  const [, traceId, spanId, flags] = FORM.exec(text?.trim() ?? "") ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

export function formatTraceParent({ traceId, spanId, sampled }: TraceParent): string {
  return `00-${traceId}-${spanId}-${sampled ? "01" : "00"}`;
}
