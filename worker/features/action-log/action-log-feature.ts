import type { FeatureDefinition, SharedConfig } from "../feature.ts";
import { type ActionLogPart, actionLogSettings } from "./action-log-settings.ts";

/** Writes a log file for each action. */
export const actionLog = {
  name: "action-log",
  settings: actionLogSettings,
  isUsed: ({ actionLog: used }) => used !== undefined,
  async open({ clock, config, log }) {
    if (!config.actionLog) return [];
    const { ActionLogs } = await import("./action-logs.ts");
    const logs = new ActionLogs({ ...config.actionLog, clock, log });
    return [
      { kind: "observer", observer: logs.observer },
      { kind: "recorder", serve: async () => logs.start(), flush: () => logs.close() },
    ];
  },
} satisfies FeatureDefinition<SharedConfig & ActionLogPart>;
