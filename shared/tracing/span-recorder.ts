import { AsyncLocalStorage } from "node:async_hooks";
import { randomBytes } from "node:crypto";
import { BmcError } from "../contract/bmc-error.ts";
import type { FinishedSpan, OpenSpan, SpanAttributes, SpanStart, SpanValue, Tracer } from "./tracer.ts";

/** The limit on spans, which exceeds what an action that polls a BMC for an hour records. */
const MOST_SPANS = 1_000;

interface Open {
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly start: SpanStart;
  readonly startMs: number;
  readonly noted: Record<string, SpanValue | undefined>;
}

/** Keeps the spans of one trace in memory below one root span. Concurrent work is separated by asynchronous context. */
export class SpanRecorder implements Tracer {
  readonly #traceId: string;
  readonly #rootId: string;
  readonly #calls = new AsyncLocalStorage<Open>();
  readonly #open = new Set<Open>();
  readonly #finished: FinishedSpan[] = [];
  readonly #originMs = Date.now() - performance.now();
  #left = 0;
  #over = false;

  constructor(traceId: string, rootId: string) {
    this.#traceId = traceId;
    this.#rootId = rootId;
  }

  /** Returns milliseconds since the epoch, which never decrease. */
  nowMs(): number {
    return this.#originMs + performance.now();
  }

  async span<T>(start: SpanStart, work: (span: OpenSpan) => Promise<T>): Promise<T> {
    const parentSpanId = this.#calls.getStore()?.spanId ?? this.#rootId;
    const noted = { ...start.attributes };
    const open: Open = { spanId: newSpanId(), parentSpanId, start, startMs: this.nowMs(), noted };
    this.#open.add(open);
    try {
      const value = await this.#calls.run(open, () =>
        work({ note: (attributes: SpanAttributes) => Object.assign(noted, attributes) }),
      );
      this.#end(open);
      return value;
    } catch (thrown) {
      // Only the class, because messages may quote what was sent to a BMC.
      noted["error.type"] ??= classOf(thrown);
      this.#end(open);
      throw thrown;
    }
  }

  /** Returns all spans so far and ends open ones. Later spans are dropped. */
  finish(): { readonly spans: readonly FinishedSpan[]; readonly left: number } {
    for (const open of this.#open) {
      open.noted["pbnj.unfinished"] = true;
      this.#end(open);
    }
    this.#over = true;
    return { spans: this.#finished, left: this.#left };
  }

  #end(ended: Open): void {
    const { spanId, parentSpanId, start, startMs, noted } = ended;
    this.#open.delete(ended);
    if (this.#over) return;
    if (this.#finished.length >= MOST_SPANS) {
      this.#left += 1;
      return;
    }
    this.#finished.push({
      traceId: this.#traceId,
      spanId,
      parentSpanId,
      name: start.name,
      kind: start.kind,
      startMs,
      endMs: this.nowMs(),
      attributes: definedOnly(noted),
      ...(noted["error.type"] === undefined ? {} : { failure: "" }),
    });
  }
}

export function newTraceId(): string {
  return randomBytes(16).toString("hex");
}

export function newSpanId(): string {
  return randomBytes(8).toString("hex");
}

export function definedOnly(attributes: SpanAttributes): Readonly<Record<string, SpanValue>> {
  const defined: Record<string, SpanValue> = {};
  for (const [name, value] of Object.entries(attributes)) if (value !== undefined) defined[name] = value;
  return defined;
}

function classOf(thrown: unknown): string {
  if (thrown instanceof BmcError) return thrown.class;
  return thrown instanceof Error ? thrown.name : typeof thrown;
}
