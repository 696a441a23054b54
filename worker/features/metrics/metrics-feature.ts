import type { FeatureDefinition } from "../feature.ts";

export const metrics = {
  name: "metrics",
  isUsed: ({ http }) => http !== undefined,
  async open({ clock, process: { own } }) {
    const { Metrics } = await import("./metrics.ts");
    const opened = new Metrics({ clock, actionNames: own.actions });
    return [
      { kind: "observer", observer: opened.observer },
      { kind: "routes", routes: (facts) => [opened.route(facts)] },
      { kind: "recorder", flush: async () => opened.close() },
    ];
  },
} satisfies FeatureDefinition;
