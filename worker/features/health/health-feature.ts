import type { FeatureDefinition } from "../feature.ts";

/** Liveness and readiness. */
export const health = {
  name: "health",
  isUsed: ({ http }) => http !== undefined,
  async open({ clock, config }) {
    const { Health, longestWaitMs } = await import("./health.ts");
    const opened = new Health({ clock, longestWaitMs: longestWaitMs(config) });
    return {
      observer: opened.observer,
      facts: { health: (facts) => opened.findings(facts) },
      routes: (facts) => opened.routes(facts),
    };
  },
} satisfies FeatureDefinition;
