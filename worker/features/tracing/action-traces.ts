import { createHash } from "node:crypto";
import type { Clock } from "../../../shared/clock.ts";
import { defined } from "../../../shared/defined.ts";
import { definedOnly, newSpanId } from "../../../shared/tracing/span-recorder.ts";
import { formatTraceParent, TRACE_PARENT } from "../../../shared/tracing/trace-parent.ts";
import type { FinishedSpan, SpanAttributes, SpanKind } from "../../../shared/tracing/tracer.ts";
import { ACTION_TRACES, ON_STDOUT } from "../../../shared/tracing/variables.ts";
import { actionKey, type Outcome } from "../../core/action/action.ts";
import { hookedActionId } from "../../core/action/hooks.ts";
import type {
  ActionEvent,
  ReportedStatus,
  ReportSeen,
  SeenAction,
  SpansSeen,
} from "../../core/action/observer.ts";
import { readSpans } from "./read-spans.ts";

/** The IDs of one run's trace and of the spans that others refer to. */
interface TraceIds {
  readonly traceId: string;
  readonly rootId: string;
  readonly runId: string;
}

/**
 * Derives the IDs from the action's key and start, which the journal keeps. An adopting worker continues the same trace, and
 * a recreated workflow gets another one.
 */
export function traceIds(key: string, startedAt: Date): TraceIds {
  const hash = createHash("sha256").update(`${key}\0${startedAt.toISOString()}`).digest("hex");
  return { traceId: hash.slice(0, 32), rootId: hash.slice(32, 48), runId: hash.slice(48, 64) };
}

/** Receives the events that spans are made of. */
export interface TraceObserver {
  action(event: ActionEvent): void;
  report(report: ReportSeen): void;
  spans(spans: SpansSeen): void;
}

/** Receives finished spans; never awaited. */
export interface SpanSink {
  /** Whether a trace is sampled; always the same for the same trace. */
  isSampled(traceId: string): boolean;
  /** `from` is the service of the span. */
  add(span: FinishedSpan, from: "worker" | "action"): void;
}

interface TimedReport extends ReportSeen {
  readonly endMs: number;
}

/** An action in flight. */
interface Run {
  readonly action: SeenAction;
  readonly takenMs?: number;
  machine?: string | undefined;
  started?: StartedRun;
  outcome?: Outcome;
  /** Reports that were sent before the trace had its ID. */
  readonly early: TimedReport[];
  reports: number;
  ownSpans: number;
}

/** Set once the action has started. */
interface StartedRun {
  readonly ids: TraceIds;
  readonly isSampled: boolean;
  readonly startedMs: number;
  /** When the run itself started. */
  readonly runMs: number;
  readonly runtime?: string;
  readonly adopted?: boolean;
}

interface WorkerSpan {
  readonly name: string;
  readonly kind: SpanKind;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: SpanAttributes;
  readonly failure?: string | undefined;
}

type ReportedEvent = Extract<ActionEvent, { kind: "reported" }>;

/** The maximum number of spans from the action itself. */
const MAX_OWN_SPANS = 2_000;

/**
 * Creates one trace per run of an action, from its poll to its final report, with spans for waiting, running and reporting.
 * The action's own spans are below the run. An action that is returned and served again leaves no trace.
 */
export class ActionTraces {
  readonly #sink: SpanSink;
  readonly #clock: Clock;
  /** Runs by action key. */
  readonly #runs = new Map<string, Run>();

  constructor(sink: SpanSink, clock: Clock) {
    this.#sink = sink;
    this.#clock = clock;
  }

  get observer(): TraceObserver {
    return {
      action: (event) => this.#action(event),
      report: (report) => this.#report(report),
      spans: (spans) => this.#spans(spans),
    };
  }

  /** Variables that connect an action's spans to its run, or a hook's spans to the whole trace. */
  environmentOf(action: SeenAction): Readonly<Record<string, string>> {
    const started = this.#runOf(action)?.started;
    if (!started) return {};
    const { traceId, rootId, runId } = started.ids;
    const spanId = this.#runs.has(action.key) ? runId : rootId;
    const parent = formatTraceParent({ traceId, spanId, sampled: started.isSampled });
    return { [TRACE_PARENT]: parent, ...(started.isSampled ? { [ACTION_TRACES]: ON_STDOUT } : {}) };
  }

  #action(event: ActionEvent): void {
    const { action } = event;
    const { key } = action;
    switch (event.kind) {
      case "taken":
        this.#runs.set(key, { ...newRun(action), takenMs: event.at.getTime(), machine: event.machine });
        break;
      case "refused":
        this.#start(this.#runs.get(key) ?? this.#newRun(action), { startedAt: event.at });
        break;
      case "started": {
        const { startedAt, runtime, adopted, machine } = event;
        const run = (!adopted && this.#runs.get(key)) || this.#newRun(action);
        run.machine = machine;
        this.#start(run, { startedAt, runtime, adopted });
        break;
      }
      case "ended":
        this.#end(this.#runs.get(key), event.outcome);
        break;
      case "reported":
        // The report is repeated, and its last attempt ends the trace.
        if (event.delivery === "rejected") break;
        // The next worker reports the action and ends the trace.
        if (event.delivery !== "unanswered") this.#finish(event, event.status);
        this.#runs.delete(key);
        break;
      case "returned":
        this.#runs.delete(key);
        break;
      case "line":
      case "progress":
        break;
      default:
        event satisfies never;
    }
  }

  #start(
    run: Run,
    {
      startedAt,
      ...about
    }: { readonly startedAt: Date; readonly runtime?: string; readonly adopted?: boolean },
  ): void {
    const ids = traceIds(run.action.key, startedAt);
    const startedMs = startedAt.getTime();
    const runMs = about.adopted ? startedMs : Math.max(startedMs, this.#clock.now());
    run.started = { ids, isSampled: this.#sink.isSampled(ids.traceId), startedMs, runMs, ...about };
    if (run.takenMs !== undefined && about.runtime !== undefined) {
      const wait = { startMs: run.takenMs, endMs: startedMs };
      this.#write(run, { name: "wait for turn", kind: "internal", ...wait, attributes: {} });
    }
    for (const report of run.early.splice(0)) this.#writeReport(run, report);
  }

  #report(report: ReportSeen): void {
    const run = this.#runs.get(actionKey(report.action));
    if (!run) return;
    const timed = { ...report, endMs: this.#clock.now() };
    if (run.started) this.#writeReport(run, timed);
    else run.early.push(timed);
  }

  #writeReport(run: Run, { state, code, durationMs, endMs }: TimedReport): void {
    run.reports += 1;
    this.#write(run, {
      name: `report ${state}`,
      kind: "client",
      startMs: endMs - durationMs,
      endMs,
      attributes: {
        "rpc.system.name": "grpc",
        "rpc.method": "ReportActionStatus",
        "rpc.response.status_code": code,
        "pbnj.attempt": run.reports,
      },
      failure: code === "OK" ? undefined : code,
    });
  }

  #spans({ action, text }: SpansSeen): void {
    const run = this.#runOf(action);
    const started = run?.started;
    if (!run || !started?.isSampled) return;
    for (const span of readSpans(text) ?? []) {
      // A foreign image could name another trace.
      if (span.traceId !== started.ids.traceId || run.ownSpans >= MAX_OWN_SPANS) continue;
      run.ownSpans += 1;
      this.#sink.add(span, "action");
    }
  }

  #end(run: Run | undefined, outcome: Outcome): void {
    if (!run?.started) return;
    run.outcome = outcome;
    const { runtime, runMs } = run.started;
    if (runtime === undefined) return;
    const { ok, message, exitCode, timedOut, killed } = outcome;
    this.#write(
      run,
      {
        name: "run",
        kind: "internal",
        startMs: runMs,
        endMs: Math.max(runMs, this.#clock.now()),
        attributes: {
          "container.image.name": run.action.image,
          "process.exit.code": exitCode,
          "pbnj.runtime": runtime,
          "pbnj.timed_out": timedOut,
          "pbnj.killed": killed,
          ...outcomeAttributes(outcome),
        },
        failure: ok ? undefined : message,
      },
      run.started.ids.runId,
    );
  }

  /** Ends the trace, even of an action from an earlier worker of which only the report was pending. */
  #finish({ action, delivery, at }: ReportedEvent, status: ReportedEvent["status"]): void {
    const run = this.#runs.get(action.key) ?? newRun(action);
    if (!run.started && status) this.#start(run, { startedAt: status.startedAt, adopted: true });
    if (!run.started?.isSampled) return;
    const { ids, startedMs, runtime, adopted } = run.started;
    this.#sink.add(
      {
        traceId: ids.traceId,
        spanId: ids.rootId,
        name: action.name,
        kind: "consumer",
        startMs: run.takenMs ?? startedMs,
        endMs: Math.max(startedMs, at.getTime()),
        attributes: definedOnly({
          "pbnj.workflow": action.workflowId,
          "pbnj.task": action.taskId,
          "pbnj.action": action.name,
          "pbnj.action.id": action.actionId,
          "pbnj.agent.id": action.agentId,
          "pbnj.machine": run.machine,
          "pbnj.runtime": runtime,
          "pbnj.adopted": adopted || undefined,
          "pbnj.state": status?.state,
          "pbnj.delivery": delivery,
          "container.image.name": action.image,
          ...(run.outcome ? outcomeAttributes(run.outcome) : {}),
        }),
        ...(status && failureOf(status)),
      },
      "worker",
    );
  }

  #write(run: Run, { attributes, failure, ...span }: WorkerSpan, spanId = newSpanId()): void {
    if (!run.started?.isSampled) return;
    const { traceId, rootId } = run.started.ids;
    const about = { traceId, spanId, parentSpanId: rootId, attributes: definedOnly(attributes) };
    this.#sink.add({ ...span, ...about, ...defined({ failure }) }, "worker");
  }

  #newRun(action: SeenAction): Run {
    const run = newRun(action);
    this.#runs.set(action.key, run);
    return run;
  }

  /** The run of an action, or of the action that a hook belongs to. */
  #runOf(action: SeenAction): Run | undefined {
    const hooked = () => actionKey({ ...action, actionId: hookedActionId(action.actionId) });
    return this.#runs.get(action.key) ?? this.#runs.get(hooked());
  }
}

function newRun(action: SeenAction): Run {
  return { action, early: [], reports: 0, ownSpans: 0 };
}

function outcomeAttributes({ class: errorClass, result }: Outcome): SpanAttributes {
  return {
    "error.type": errorClass,
    "pbnj.provider": result?.provider,
    "pbnj.round_trips": result?.roundTrips,
  };
}

function failureOf({ state, message }: ReportedStatus): { failure?: string } {
  return state === "success" ? {} : { failure: message };
}
