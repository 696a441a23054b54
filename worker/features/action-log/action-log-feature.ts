import type { Feature, FeatureDefinition, WorkerParts } from "../feature.ts";

/** A file with the log of each action. */
export const actionLog: FeatureDefinition = {
  name: "action-log",
  isUsed: (config) => config.actionLog !== undefined,
  async open({ clock, config, log }: WorkerParts): Promise<Feature> {
    if (!config.actionLog) return {};
    const { ActionLogs } = await import("./action-logs.ts");
    const logs = new ActionLogs({ ...config.actionLog, clock, log });
    return {
      observer: logs.observer,
      serve: async () => logs.start(),
      flush: () => logs.close(),
    };
  },
};
