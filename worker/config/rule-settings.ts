import type { SettingName } from "./schema.ts";

/** The settings that determine whether actions may run. */
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
