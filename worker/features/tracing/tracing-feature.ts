import type { FeatureDefinition } from "../feature.ts";
import { openTracing } from "./tracing.ts";

/** Exports traces of actions, configured by OpenTelemetry's variables. */
export const tracing = {
  name: "tracing",
  isUsed: () => true,
  async open({ clock, log, process: { env } }) {
    const opened = openTracing(env, { log, clock });
    if (!opened) return [];
    return [
      { kind: "observer", observer: opened.observer },
      { kind: "runtime", environmentOf: (action) => opened.environmentOf(action) },
      { kind: "recorder", serve: () => opened.start(), flush: () => opened.close() },
    ];
  },
} satisfies FeatureDefinition;
