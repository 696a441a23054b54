import type { FeatureDefinition } from "../feature.ts";
import { openTracing } from "./tracing.ts";

/** Traces of actions, as OpenTelemetry's variables say. */
export const tracing = {
  name: "tracing",
  isUsed: () => true,
  async open({ clock, env, log }) {
    const opened = openTracing(env, { log, clock });
    if (!opened) return {};
    return {
      observer: opened.observer,
      traceEnvironment: (action) => opened.environmentOf(action),
      serve: () => opened.start(),
      flush: () => opened.close(),
    };
  },
} satisfies FeatureDefinition;
