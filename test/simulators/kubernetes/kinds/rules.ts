import type { ResourceType } from "../api/resource-type.ts";
import { jobRules } from "./job.ts";
import type { KindRules } from "./kind-rules.ts";
import { podRules } from "./pod.ts";
import { configMapRules, eventRules, leaseRules, namespaceRules, secretRules } from "./simple.ts";

const RULES: Readonly<Record<string, KindRules>> = {
  Pod: podRules,
  Job: jobRules,
  Secret: secretRules,
  ConfigMap: configMapRules,
  Lease: leaseRules,
  Event: eventRules,
  Namespace: namespaceRules,
};

const NONE: KindRules = { check: () => undefined };

/** Custom resources have the rules of their schemas only. */
export function rulesOf({ kind, schema }: ResourceType): KindRules {
  return schema ? NONE : (RULES[kind] ?? NONE);
}
