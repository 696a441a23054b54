import type { FeatureDefinition } from "../feature.ts";

/** Serves liveness and readiness. */
export const health = {
  name: "health",
  isUsed: ({ http }) => http !== undefined,
  async open({ clock, config }) {
    const { Health, longestWaitMs } = await import("./health.ts");
    const opened = new Health({ clock, longestWaitMs: longestWaitMs(config) });
    return [
      { kind: "observer", observer: opened.observer },
      { kind: "facts", worker: { health: (facts) => opened.findings(facts) } },
      { kind: "routes", routes: (facts) => opened.routes(facts) },
    ];
  },
} satisfies FeatureDefinition;
