import type { BmcClient } from "../../../shared/bmc/client.ts";
import type { ActionResult } from "../../../shared/contract/result.ts";
import { defined } from "../../../shared/defined.ts";
import { otlpJson, type SpanSource } from "../../../shared/tracing/otlp-json.ts";
import { definedOnly, newSpanId, newTraceId, SpanRecorder } from "../../../shared/tracing/span-recorder.ts";
import { parseTraceParent, TRACE_PARENT, type TraceParent } from "../../../shared/tracing/trace-parent.ts";
import type { FinishedSpan, SpanValue, Tracer } from "../../../shared/tracing/tracer.ts";
import {
  ACTION_TRACES,
  type Environment,
  ON_STDOUT,
  parseKeyValues,
} from "../../../shared/tracing/variables.ts";
import { version } from "../../../shared/version.ts";

/** The number of spans per line. Readers of results accept lines of this length. */
const SPANS_A_LINE = 200;
const SERVICE_NAME = "pbnj-worker-action";

export interface TraceStart {
  readonly action: string;
  readonly env: Environment;
  /** When the action started, in milliseconds since the epoch. Defaults to now. */
  readonly startedMs?: number;
  /** Writes text, which includes its line break, to stdout. */
  readonly write: (text: string) => Promise<void>;
}

/** The trace of one action, or its part of a longer trace. */
export interface ActionTrace {
  readonly tracer: Tracer;
  /** Wraps a client so that its operations become spans. */
  watch(client: BmcClient): BmcClient;
  /** Redacts the texts of spans. */
  hide(redact: (text: string) => string, username: string | undefined): void;
  /** Ends the action's own span and sends all spans. Never rejects. Resolves to the reason in one line if sending failed. */
  finish(result: ActionResult): Promise<string | undefined>;
}

/** Opens the trace of an action. Returns undefined if the trace to which it belongs is not recorded. */
export function openActionTrace({ action, env, startedMs, write }: TraceStart): ActionTrace | undefined {
  const parent = parseTraceParent(env[TRACE_PARENT]);
  if (!isSampled(parent, env)) return undefined;
  const traceId = parent?.traceId ?? newTraceId();
  const spanId = newSpanId();
  const recorder = new SpanRecorder(traceId, spanId);
  const startMs = startedMs ?? recorder.nowMs();
  let clean = (text: string) => text;

  function whole(result: ActionResult): readonly FinishedSpan[] {
    const { spans, left } = recorder.finish();
    const own: FinishedSpan = {
      traceId,
      spanId,
      name: action,
      kind: "internal",
      startMs,
      endMs: recorder.nowMs(),
      attributes: definedOnly({
        "pbnj.action": action,
        "pbnj.machine": result.machine,
        "pbnj.provider": result.provider,
        "pbnj.round_trips": result.roundTrips,
        "pbnj.changed": result.changed,
        "pbnj.spans_left_out": left === 0 ? undefined : left,
        "error.type": result.class,
      }),
      ...defined({ parentSpanId: parent?.spanId, failure: result.ok ? undefined : result.message }),
    };
    return [own, ...spans].map((span) => cleaned(span, clean));
  }

  return {
    tracer: recorder,
    watch: (client) => tracedClient(client, recorder),
    hide(redact, username) {
      clean = hiding(redact, username);
    },
    async finish(result) {
      const spans = whole(result);
      const source = { resource: resourceOf(env), scope: { name: "pbnj-worker/action", version } };
      if (env[ACTION_TRACES] === ON_STDOUT) return writeLines(source, spans, write);
      const { postSpans } = await import("./post-spans.ts");
      return postSpans(env, otlpJson(source, spans));
    },
  };
}

async function writeLines(
  source: SpanSource,
  spans: readonly FinishedSpan[],
  write: TraceStart["write"],
): Promise<undefined> {
  for (let from = 0; from < spans.length; from += SPANS_A_LINE) {
    await write(`${otlpJson(source, spans.slice(from, from + SPANS_A_LINE))}\n`);
  }
}

/**
 * Decides like a parent-based sampler. For a single action, the only value of `OTEL_TRACES_SAMPLER` that matters is "never".
 */
function isSampled(parent: TraceParent | undefined, env: Environment): boolean {
  if (parent) return parent.sampled;
  return !/^(parentbased_)?always_off$/.test(env["OTEL_TRACES_SAMPLER"]?.trim() ?? "");
}

function resourceOf(env: Environment): Readonly<Record<string, string>> {
  const given = parseKeyValues(env["OTEL_RESOURCE_ATTRIBUTES"]);
  const name = env["OTEL_SERVICE_NAME"] || given["service.name"] || SERVICE_NAME;
  return { "service.version": version, ...given, "service.name": name };
}

/** Redacts the user name as well, which is private although not secret. It is matched as a whole word only. */
function hiding(redact: (text: string) => string, username: string | undefined): (text: string) => string {
  if (!username) return redact;
  const name = new RegExp(`(?<!\\w)${username.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")}(?!\\w)`, "g");
  return (text) => redact(text).replace(name, "[user]");
}

function cleaned(span: FinishedSpan, clean: (text: string) => string): FinishedSpan {
  const attributes: Record<string, SpanValue> = {};
  for (const [key, value] of Object.entries(span.attributes)) {
    attributes[key] = typeof value === "string" ? clean(value) : value;
  }
  const { failure } = span;
  const name = clean(span.name);
  return { ...span, name, attributes, ...defined({ failure: failure && clean(failure) }) };
}

/** Wraps a client so that each operation becomes a span with its name, such as `setPower`. */
function tracedClient(client: BmcClient, tracer: Tracer): BmcClient {
  return new Proxy(client, {
    get(target, name) {
      // Called on the target, because private fields do not work through a proxy.
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== "function") return member;
      const call = (given: readonly unknown[]) => Reflect.apply(member, target, given);
      if (typeof name !== "string" || name === "close") return (...given: unknown[]) => call(given);
      return (...given: unknown[]) => tracer.span({ name, kind: "internal" }, () => call(given));
    },
  });
}
