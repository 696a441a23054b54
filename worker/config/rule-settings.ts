import type { SettingName } from "./schema.ts";

/** The settings that decide about actions before any is run. */
export const RULE_SETTINGS = [
  "config",
  "inventory",
  "policy",
  "agentIdPattern",
  "runtime",
  "unsafeAnyImage",
  "rufio",
  "rufioImage",
  "pullPolicy",
  "memoryLimit",
  "cpuLimit",
  "pidsLimit",
] as const satisfies readonly SettingName[];
