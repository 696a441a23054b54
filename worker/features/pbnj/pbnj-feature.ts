import type { FeatureDefinition, SharedConfig } from "../feature.ts";
import { type PbnjPart, pbnjSettings } from "./pbnj-settings.ts";

/** Serves PBnJ's API, whose requests become actions. */
export const pbnj = {
  name: "pbnj",
  settings: pbnjSettings,
  isUsed: (config) => config.pbnj !== undefined,
  open: async (worker) => (await import("./open-pbnj.ts")).openPbnj(worker),
} satisfies FeatureDefinition<SharedConfig & PbnjPart>;
