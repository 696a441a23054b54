import { describe, expect, test } from "vitest";
import { systemClock } from "../../../../shared/clock.ts";
import { otlpJson } from "../../../../shared/tracing/otlp-json.ts";
import { parseTraceParent } from "../../../../shared/tracing/trace-parent.ts";
import type { FinishedSpan } from "../../../../shared/tracing/tracer.ts";
import type { Outcome } from "../../../../worker/core/action/action.ts";
import { type ActionEvent, type SeenAction, seenAction } from "../../../../worker/core/action/observer.ts";
import { ActionTraces, traceIds } from "../../../../worker/features/tracing/action-traces.ts";
import { readSpans } from "../../../../worker/features/tracing/read-spans.ts";

const takenAt = new Date("2026-01-01T00:00:00.000Z");
const startedAt = new Date("2026-01-01T00:00:02.000Z");
const at = new Date("2026-01-01T00:01:00.000Z");
const SOURCE = { resource: {}, scope: { name: "t", version: "1" } };

function action(actionId = "a1"): SeenAction {
  const ids = { workflowId: "tink/wf", taskId: "bmc", agentId: "pbnj", actionId, name: "power-off" };
  return seenAction({ ...ids, image: "registry.example/power-off:v1" });
}

const taken: ActionEvent = { kind: "taken", action: action(), machine: "node-01", at: takenAt };
const started = (adopted = false): ActionEvent => ({
  ...{ kind: "started", action: action(), machine: "node-01", runtime: "process" },
  ...{ startedAt, timeoutMs: 60_000, adopted },
});
const outcome: Outcome = {
  ...{ ok: true, message: "off", exitCode: 0, startedAt, stoppedAt: at, timedOut: false, killed: false },
};
const ended: ActionEvent = { kind: "ended", action: action(), runtime: "process", outcome };
const reported = (delivery: "acknowledged" | "rejected" | "unanswered"): ActionEvent => ({
  ...{ kind: "reported", action: action(), delivery, at },
  status: { state: "success", message: "off", startedAt },
});

function traced(ratio = 1) {
  const spans: FinishedSpan[] = [];
  const sink = { isSampled: () => ratio > 0, add: (span: FinishedSpan) => spans.push(span) };
  const traces = new ActionTraces(sink, systemClock);
  const see = (...events: readonly ActionEvent[]) => {
    for (const event of events) traces.observer.action(event);
  };
  return { spans, traces, see, names: () => spans.map(({ name }) => name) };
}

describe("the trace of an action", () => {
  test("is the same after a restart of the worker, and another for a workflow that is created again", () => {
    const first = traceIds(action().key, startedAt);

    expect(traceIds(action().key, new Date(startedAt))).toEqual(first);
    expect(traceIds(action().key, at).traceId).not.toBe(first.traceId);
    expect(traceIds(action("a2").key, startedAt).traceId).not.toBe(first.traceId);
    expect(new Set(Object.values(first)).size).toBe(3);
  });

  test("begins with the poll and ends with the report", () => {
    const { spans, see } = traced();

    see(taken, started(), ended, reported("acknowledged"));

    const root = spans.find(({ parentSpanId }) => parentSpanId === undefined);
    expect(root).toMatchObject({ startMs: takenAt.getTime(), endMs: at.getTime(), name: "power-off" });
    expect(spans.find(({ name }) => name === "wait for turn")).toMatchObject({
      ...{ startMs: takenAt.getTime(), endMs: startedAt.getTime(), parentSpanId: root?.spanId },
    });
  });

  test("is ended by the worker whose report the server acknowledges", () => {
    const before = traced();
    const after = traced();

    before.see(taken, started(), ended, reported("unanswered"));
    after.see(reported("acknowledged"));

    const { traceId, rootId } = traceIds(action().key, startedAt);
    expect(before.names()).toEqual(["wait for turn", "run"]);
    expect(before.spans.map((span) => span.parentSpanId)).toEqual([rootId, rootId]);
    expect(after.spans).toEqual([expect.objectContaining({ traceId, spanId: rootId, name: "power-off" })]);
    expect(after.spans[0]?.attributes).toMatchObject({ "pbnj.adopted": true, "pbnj.state": "success" });
  });

  test("is not written for an action that is released and served again", () => {
    const { traces, spans, see } = traced();

    see(taken, { kind: "returned", action: action(), at });

    expect(spans).toEqual([]);
    expect(traces.environmentOf(action())).toEqual({});
  });

  test("has every attempt to report, also those before it had its ID", () => {
    const { traces, spans, see } = traced();
    const report = { action: action(), durationMs: 5 };

    see(taken);
    traces.observer.report({ ...report, state: "running", code: "Unavailable" });
    traces.observer.report({ ...report, state: "running", code: "OK" });
    see(started(), ended);
    traces.observer.report({ ...report, state: "success", code: "OK" });
    see(reported("acknowledged"));

    const reports = spans.filter(({ kind }) => kind === "client");
    expect(reports.map(({ name, failure }) => [name, failure])).toEqual([
      ["report running", "Unavailable"],
      ["report running", undefined],
      ["report success", undefined],
    ]);
  });
});

describe("what the action traces itself", () => {
  const { traceId, runId, rootId } = traceIds(action().key, startedAt);
  const own = (name: string, of = traceId): FinishedSpan => ({
    ...{ traceId: of, spanId: "3".repeat(16), parentSpanId: runId, name, kind: "client" },
    ...{ startMs: 1_000.5, endMs: 2_000, attributes: { a: "x", b: 1, c: true, d: 0.5 }, failure: "why" },
  });

  test("is told its place, and that of a hook is beside the run", () => {
    const { traces, see } = traced();

    see(taken, started());

    const placeOf = (of: SeenAction) => parseTraceParent(traces.environmentOf(of)["TRACEPARENT"]);
    expect(placeOf(action())).toEqual({ traceId, spanId: runId, sampled: true });
    expect(placeOf(action("a1/on-failure"))).toEqual({ traceId, spanId: rootId, sampled: true });
  });

  test("is told when nothing is kept", () => {
    const { traces, spans, see } = traced(0);

    see(taken, started());
    const environment = traces.environmentOf(action());
    see(ended, reported("acknowledged"));

    expect(Object.keys(environment)).toEqual(["TRACEPARENT"]);
    expect(parseTraceParent(environment["TRACEPARENT"])?.sampled).toBe(false);
    expect(spans).toEqual([]);
  });

  test("is taken as it is, and what names another trace is not", () => {
    const { traces, spans, see } = traced();
    see(taken, started());
    const before = spans.length;

    traces.observer.spans({
      action: action(),
      text: otlpJson(SOURCE, [own("mine"), own("theirs", "9".repeat(32))]),
    });
    traces.observer.spans({ action: action(), text: '{"resourceSpans":[{"scopeSpans":1}]}' });

    expect(spans.slice(before)).toEqual([own("mine")]);
  });

  test("is cut where it is too long, and bounded where there is too much of it", () => {
    const { traces, spans, see } = traced();
    see(taken, started());
    const before = spans.length;
    const long = { ...own("n".repeat(5_000)), attributes: { a: "v".repeat(5_000) } };

    for (let line = 0; line < 30; line += 1) {
      traces.observer.spans({ action: action(), text: otlpJson(SOURCE, Array(100).fill(long)) });
    }

    expect(spans.length - before).toBe(2_000);
    expect(spans.at(-1)?.name).toHaveLength(256);
    expect(spans.at(-1)?.attributes["a"]).toHaveLength(1_024);
  });

  test.each(["", "{", '{"resourceSpans":', "[]", '{"resourceSpans":[{}]}'])("is none in %j", (line) => {
    expect(readSpans(line)).toBeUndefined();
  });
});
