import type { FeatureDefinition } from "../feature.ts";

export const metrics = {
  name: "metrics",
  isUsed: ({ http }) => http !== undefined,
  async open({ clock, own }) {
    const { Metrics } = await import("./metrics.ts");
    const opened = new Metrics({ clock, actionNames: own.actions });
    return {
      observer: opened.observer,
      routes: (facts) => [opened.route(facts)],
      flush: async () => opened.close(),
    };
  },
} satisfies FeatureDefinition;
