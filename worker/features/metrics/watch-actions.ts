import type { Clock } from "../../../shared/clock.ts";
import type { ActionEvent } from "../../core/action/observer.ts";
import { endedLabels } from "./definitions.ts";
import type { MetricSet } from "./metric-set.ts";

const SECOND_MS = 1_000;

/** The state of an action in flight. */
type Stage =
  | { readonly kind: "waiting"; readonly sinceMs: number }
  | { readonly kind: "running" }
  | { readonly kind: "unreported" };

export interface ActionsWatch {
  onAction(event: ActionEvent): void;
  /** Sets the gauges that are read on request. */
  sample(): void;
}

/**
 * Records metrics that depend on an action's earlier events: how many actions are in which state, and how long each state
 * lasted.
 */
export function watchActions(metrics: MetricSet, clock: Clock): ActionsWatch {
  /** Actions in flight by key, until their last event. */
  const stages = new Map<string, Stage>();

  function onEnded(event: ActionEvent & { kind: "ended" }): void {
    const { key } = event.action;
    if (stages.get(key)?.kind === "running") {
      const { startedAt, stoppedAt } = event.outcome;
      // The wall clock may be set back in between.
      const seconds = Math.max(0, stoppedAt.getTime() - startedAt.getTime()) / SECOND_MS;
      metrics.record("duration", endedLabels(event), seconds);
    }
    stages.set(key, { kind: "unreported" });
  }

  const counted = (kind: Stage["kind"]) => [...stages.values()].filter((stage) => stage.kind === kind).length;

  return {
    onAction(event) {
      const { key } = event.action;
      const before = stages.get(key);
      switch (event.kind) {
        case "taken":
          stages.set(key, { kind: "waiting", sinceMs: clock.monotonicMs() });
          return;
        case "started":
          if (before?.kind === "waiting") {
            metrics.record("wait", {}, (clock.monotonicMs() - before.sinceMs) / SECOND_MS);
          }
          stages.set(key, { kind: "running" });
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
          return;
        // The action no longer waits for the lock; `ended` or `returned` follows.
        case "refused":
        case "returned":
          stages.delete(key);
          return;
        default:
          event satisfies never;
      }
    },
    sample() {
      metrics.record("waiting", {}, counted("waiting"));
      metrics.record("active", {}, counted("running"));
      metrics.record("unreported", {}, counted("unreported"));
    },
  };
}
