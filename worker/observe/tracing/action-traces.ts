import type { Clock } from "../../../shared/clock.ts";
import { defined } from "../../../shared/defined.ts";
import type { FinishedSpan } from "../../../shared/tracing/finished-span.ts";
import { definedOnly, newSpanId } from "../../../shared/tracing/span-recorder.ts";
import { formatTraceParent, TRACE_PARENT } from "../../../shared/tracing/trace-parent.ts";
import type { SpanAttributes, SpanKind } from "../../../shared/tracing/tracer.ts";
import { ACTION_TRACES, ON_STDOUT } from "../../../shared/tracing/variables.ts";
import type { ActionStatus, Outcome } from "../../action/action.ts";
import { actionKey } from "../../action/action-key.ts";
import { hookedActionId } from "../../action/hooks.ts";
import type { ActionEvent, Observer, ReportSeen, SeenAction, SpansSeen } from "../../action/observer.ts";
import { readSpans } from "./read-spans.ts";
import { type TraceIds, traceIds } from "./trace-ids.ts";

/** Where finished spans go; never waited for. */
export interface SpanSink {
  /** Whether a trace is kept; the same answer for the same trace, whoever asks and when. */
  isSampled(traceId: string): boolean;
  /** `from` is who did what the span is about. */
  add(span: FinishedSpan, from: "worker" | "action"): void;
}

interface TimedReport extends ReportSeen {
  readonly endMs: number;
}

/** One action at hand. */
interface Run {
  readonly action: SeenAction;
  readonly takenMs?: number;
  machine?: string | undefined;
  begun?: Begun;
  outcome?: Outcome;
  /** Made before the trace had its ID. */
  readonly early: TimedReport[];
  reports: number;
  foreign: number;
}

/** What is known once an action has its start, and with it its trace. */
interface Begun {
  readonly ids: TraceIds;
  readonly isSampled: boolean;
  readonly startedMs: number;
  /** When the run itself began. */
  readonly runMs: number;
  readonly runtime?: string;
  readonly adopted?: boolean;
}

interface Written {
  readonly name: string;
  readonly kind: SpanKind;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: SpanAttributes;
  readonly failure?: string | undefined;
}

type ReportedEvent = Extract<ActionEvent, { kind: "reported" }>;

/** As many of an action's own spans are taken. */
const MOST_FOREIGN = 2_000;

/**
 * One trace for each run of an action: from the poll that brought it to the last word of its report, with its wait, its
 * run and its reports below, and what the action itself traced below its run. What comes to nothing, and is served
 * again, leaves no trace.
 */
export class ActionTraces {
  readonly #sink: SpanSink;
  readonly #clock: Clock;
  /** By key. */
  readonly #runs = new Map<string, Run>();

  constructor(sink: SpanSink, clock: Clock) {
    this.#sink = sink;
    this.#clock = clock;
  }

  get observer(): Pick<Observer, "action" | "report" | "spans"> {
    return {
      action: (event) => this.#action(event),
      report: (report) => this.#report(report),
      spans: (spans) => this.#spans(spans),
    };
  }

  /** Variables that join what an action traces to its run, or a hook's to the whole. */
  environmentOf(action: SeenAction): Readonly<Record<string, string>> {
    const begun = this.#runOf(action)?.begun;
    if (!begun) return {};
    const { traceId, rootId, runId } = begun.ids;
    const spanId = this.#runs.has(action.key) ? runId : rootId;
    const parent = formatTraceParent({ traceId, spanId, sampled: begun.isSampled });
    return { [TRACE_PARENT]: parent, ...(begun.isSampled ? { [ACTION_TRACES]: ON_STDOUT } : {}) };
  }

  #action(event: ActionEvent): void {
    const { action } = event;
    const { key } = action;
    switch (event.kind) {
      case "taken":
        this.#runs.set(key, { ...newRun(action), takenMs: event.at.getTime(), machine: event.machine });
        break;
      case "refused":
        this.#begin(this.#runs.get(key) ?? this.#newRun(action), { startedAt: event.at });
        break;
      case "started": {
        const { startedAt, runtime, adopted, machine } = event;
        const run = (!adopted && this.#runs.get(key)) || this.#newRun(action);
        run.machine = machine;
        this.#begin(run, { startedAt, runtime, adopted });
        break;
      }
      case "ended":
        this.#end(this.#runs.get(key), event.outcome);
        break;
      case "reported":
        // Whoever comes back reports it, and ends the trace.
        if (event.delivery !== "unanswered") this.#finish(event, event.status);
        this.#runs.delete(key);
        break;
      case "returned":
        this.#runs.delete(key);
        break;
      case "line":
        break;
      default:
        event satisfies never;
    }
  }

  #begin(
    run: Run,
    { startedAt, ...about }: { readonly startedAt: Date } & Pick<Begun, "runtime" | "adopted">,
  ): void {
    const ids = traceIds(run.action.key, startedAt);
    const startedMs = startedAt.getTime();
    const runMs = about.adopted ? startedMs : Math.max(startedMs, this.#clock.now());
    run.begun = { ids, isSampled: this.#sink.isSampled(ids.traceId), startedMs, runMs, ...about };
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
    if (run.begun) this.#writeReport(run, timed);
    else run.early.push(timed);
  }

  #writeReport(run: Run, { state, code, durationMs, endMs }: TimedReport): void {
    run.reports += 1;
    this.#write(run, {
      ...{ name: `report ${state}`, kind: "client", startMs: endMs - durationMs, endMs },
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
    const begun = run?.begun;
    if (!run || !begun?.isSampled) return;
    for (const span of readSpans(text) ?? []) {
      // An image of anybody's could name another trace.
      if (span.traceId !== begun.ids.traceId || run.foreign >= MOST_FOREIGN) continue;
      run.foreign += 1;
      this.#sink.add(span, "action");
    }
  }

  #end(run: Run | undefined, outcome: Outcome): void {
    if (!run?.begun) return;
    run.outcome = outcome;
    const { runtime, runMs } = run.begun;
    if (runtime === undefined) return;
    const { ok, message, exitCode, timedOut, killed } = outcome;
    this.#write(
      run,
      {
        ...{ name: "run", kind: "internal", startMs: runMs, endMs: Math.max(runMs, this.#clock.now()) },
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
      run.begun.ids.runId,
    );
  }

  /** Also for one of an earlier worker, whose end alone was still to be reported. */
  #finish({ action, delivery, at }: ReportedEvent, status: ReportedEvent["status"]): void {
    const run = this.#runs.get(action.key) ?? newRun(action);
    if (!run.begun && status) this.#begin(run, { startedAt: status.startedAt, adopted: true });
    if (!run.begun?.isSampled) return;
    const { ids, startedMs, runtime, adopted } = run.begun;
    this.#sink.add(
      {
        ...{ traceId: ids.traceId, spanId: ids.rootId, name: action.name, kind: "consumer" },
        ...{ startMs: run.takenMs ?? startedMs, endMs: Math.max(startedMs, at.getTime()) },
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

  #write(run: Run, { attributes, failure, ...span }: Written, spanId = newSpanId()): void {
    if (!run.begun?.isSampled) return;
    const { traceId, rootId } = run.begun.ids;
    const about = { traceId, spanId, parentSpanId: rootId, attributes: definedOnly(attributes) };
    this.#sink.add({ ...span, ...about, ...defined({ failure }) }, "worker");
  }

  #newRun(action: SeenAction): Run {
    const run = newRun(action);
    this.#runs.set(action.key, run);
    return run;
  }

  /** That of the action itself, or of the one whose hook it is. */
  #runOf(action: SeenAction): Run | undefined {
    const hooked = () => actionKey({ ...action, actionId: hookedActionId(action.actionId) });
    return this.#runs.get(action.key) ?? this.#runs.get(hooked());
  }
}

function newRun(action: SeenAction): Run {
  return { action, early: [], reports: 0, foreign: 0 };
}

function outcomeAttributes({ class: errorClass, result }: Outcome): SpanAttributes {
  return {
    "error.type": errorClass,
    "pbnj.provider": result?.provider,
    "pbnj.round_trips": result?.roundTrips,
  };
}

function failureOf({ state, message }: Pick<ActionStatus, "state" | "message">): { failure?: string } {
  return state === "success" ? {} : { failure: message };
}
