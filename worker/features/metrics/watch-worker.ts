import type { Clock } from "../../../shared/clock.ts";
import { parseImageReference } from "../../core/action/image-reference.ts";
import type { ActionEvent, LaneState, Observer } from "../../core/action/observer.ts";
import { INSIDE_AGENT_IDS } from "../../core/action/source-agent-ids.ts";
import { NONE } from "./metric-labels.ts";
import type { MetricSet } from "./metric-set.ts";

const SECOND_MS = 1_000;
const LANE_STATES: readonly LaneState[] = ["waiting", "polling", "busy", "failing"];

/** The state of an action in flight. */
type Stage =
  | { readonly kind: "waiting"; readonly sinceMs: number }
  | { readonly kind: "running" }
  | { readonly kind: "unreported" };

export interface WorkerWatch {
  readonly observer: Partial<Observer>;
  /** Sets the gauges that are read on request. */
  sample(): void;
}

/** Counts and measures the worker's events. */
export function watchWorker(metrics: MetricSet, clock: Clock): WorkerWatch {
  const lanes = new Map<string, LaneState>();
  /** By key, until the action's last event. */
  const stages = new Map<string, Stage>();
  let lastAnswer = 0;

  function onStarted({ action, runtime, adopted }: ActionEvent & { kind: "started" }): void {
    const before = stages.get(action.key);
    if (before?.kind === "waiting") {
      metrics.observe("wait", {}, (clock.monotonicMs() - before.sinceMs) / SECOND_MS);
    }
    stages.set(action.key, { kind: "running" });
    metrics.add(adopted ? "adoptions" : "launches", { runtime });
  }

  function onEnded({ action, outcome }: ActionEvent & { kind: "ended" }): void {
    const { result, ok, startedAt, stoppedAt } = outcome;
    const provider = result?.provider;
    const about = { action: parseImageReference(action.image)?.name ?? NONE, provider };
    const failure = ok ? undefined : (outcome.class ?? "internal");
    metrics.add("tasks", { ...about, class: failure });
    if (failure !== undefined) metrics.add("failures", { failure_class: failure });
    if (stages.get(action.key)?.kind === "running") {
      // The wall clock may be set back in between.
      const seconds = Math.max(0, stoppedAt.getTime() - startedAt.getTime()) / SECOND_MS;
      metrics.observe("duration", about, seconds);
    }
    stages.set(action.key, { kind: "unreported" });
    const roundTrips = result?.roundTrips ?? 0;
    // A foreign image may report something that is not a count.
    if (Number.isFinite(roundTrips) && roundTrips > 0) metrics.add("roundTrips", { provider }, roundTrips);
  }

  function onAction(event: ActionEvent): void {
    const { key } = event.action;
    switch (event.kind) {
      case "taken":
        stages.set(key, { kind: "waiting", sinceMs: clock.monotonicMs() });
        return;
      case "refused":
        metrics.add("refused", {});
        // No longer waits for the lock; `ended` or `left` follows.
        stages.delete(key);
        return;
      case "started":
        onStarted(event);
        return;
      case "line":
      case "progress":
        return;
      case "ended":
        onEnded(event);
        return;
      case "reported":
        // A rejected report is repeated.
        if (event.delivery === "rejected") stages.set(key, { kind: "unreported" });
        else stages.delete(key);
        metrics.add("deliveries", { delivery: event.delivery });
        return;
      case "returned":
        stages.delete(key);
        metrics.add("left", {});
        return;
      default:
        event satisfies never;
    }
  }

  const counted = (kind: Stage["kind"]) => [...stages.values()].filter((stage) => stage.kind === kind).length;

  return {
    observer: {
      lane(agentId, state) {
        if (state === undefined) lanes.delete(agentId);
        else lanes.set(agentId, state);
      },
      poll({ agentId, code, kind, durationMs }) {
        metrics.add("polls", { code });
        metrics.observe("pollDuration", { poll_result: kind }, durationMs / SECOND_MS);
        if (kind !== "failed" && !INSIDE_AGENT_IDS.has(agentId)) lastAnswer = clock.now() / SECOND_MS;
      },
      action: onAction,
      report({ state, code, durationMs }) {
        metrics.add("reports", { report_state: state, code });
        metrics.observe("reportDuration", {}, durationMs / SECOND_MS);
      },
      journal({ step, ok, durationMs }) {
        metrics.add("journalSteps", { journal_step: step, made: ok ? "ok" : "failed" });
        metrics.observe("journalDuration", { journal_step: step }, durationMs / SECOND_MS);
      },
      hardwareRead({ class: failure }) {
        metrics.add("hardwareReads", { class: failure });
      },
      apiCall({ code }) {
        metrics.add("apiCalls", { code });
      },
      file({ name, taken }) {
        metrics.add("reloads", { file: name, taken: taken ? "taken" : "refused" });
        metrics.set("stale", { file: name }, taken ? 0 : 1);
      },
    },
    sample() {
      const states = [...lanes.values()];
      for (const state of LANE_STATES) {
        metrics.set("lanes", { lane_state: state }, states.filter((each) => each === state).length);
      }
      metrics.set("waiting", {}, counted("waiting"));
      metrics.set("active", {}, counted("running"));
      metrics.set("unreported", {}, counted("unreported"));
      metrics.set("lastAnswer", {}, lastAnswer);
    },
  };
}
