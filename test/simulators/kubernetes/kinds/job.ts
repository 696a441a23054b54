import type { V1JobCondition, V1JobSpec, V1JobStatus } from "@kubernetes/client-node";
import { type KubeObject, same } from "../api/object.ts";
import type { FieldErrors } from "../validation/field-errors.ts";
import { checkLabels } from "../validation/names.ts";
import { checkPodSpec } from "../validation/pod-spec.ts";
import { encodedConditions, withoutZeros } from "./encode-status.ts";
import type { KindRules } from "./kind-rules.ts";
import { completePodSpec } from "./pod-defaults.ts";

const UID_LABEL = "batch.kubernetes.io/controller-uid";

export const jobRules: KindRules = {
  prepare(object) {
    const spec = jobSpecOf(object);
    object.status = {};
    if (spec.manualSelector) return;
    const { uid = "", name = "" } = object.metadata;
    const labels = {
      [UID_LABEL]: uid,
      "batch.kubernetes.io/job-name": name,
      "controller-uid": uid,
      "job-name": name,
    };
    spec.selector ??= {};
    spec.selector.matchLabels = { ...spec.selector.matchLabels, [UID_LABEL]: uid };
    spec.template.metadata ??= {};
    spec.template.metadata.labels = { ...spec.template.metadata.labels, ...labels };
  },
  complete(object) {
    const spec = jobSpecOf(object);
    if (spec.completions === undefined && spec.parallelism === undefined) spec.completions = 1;
    spec.parallelism ??= 1;
    spec.backoffLimit ??= 6;
    spec.completionMode ??= "NonIndexed";
    spec.suspend ??= false;
    spec.manualSelector ??= false;
    spec.podReplacementPolicy ??= spec.podFailurePolicy ? "Failed" : "TerminatingOrFailed";
    if (spec.template.spec) completePodSpec(spec.template.spec);
    // Labels of the template stand for those of a Job without any.
    const labels = spec.template.metadata?.labels;
    if (object.metadata.labels === undefined && labels) object.metadata.labels = { ...labels };
  },
  completeStatus(object) {
    if (!object.status) return;
    object.status = withoutZeros(object.status, ["active", "succeeded", "failed"]);
    if (object.status["conditions"])
      object.status["conditions"] = encodedConditions(object.status["conditions"]);
  },
  check(errors, object) {
    const spec = jobSpecOf(object);
    for (const field of [
      "parallelism",
      "completions",
      "activeDeadlineSeconds",
      "backoffLimit",
      "ttlSecondsAfterFinished",
    ] as const)
      errors.notNegative(`spec.${field}`, spec[field]);
    errors.oneOf("spec.completionMode", spec.completionMode, ["NonIndexed", "Indexed"]);
    errors.oneOf("spec.podReplacementPolicy", spec.podReplacementPolicy, ["Failed", "TerminatingOrFailed"]);
    checkSelector(errors, object, spec);
    checkLabels(errors, "spec.template.labels", spec.template.metadata?.labels);
    const template = spec.template.spec ?? { containers: [] };
    const restartPolicy = template.restartPolicy;
    checkPodSpec(errors, "spec.template.spec", { ...template, restartPolicy: restartPolicy || "Never" });
    if (!restartPolicy || restartPolicy === "Always")
      errors.required("spec.template.spec.restartPolicy", 'valid values: "OnFailure", "Never"');
  },
  checkUpdate(errors, next, previous) {
    const [now, before] = [jobSpecOf(next), jobSpecOf(previous)];
    for (const field of [
      "completions",
      "selector",
      "template",
      "completionMode",
      "podFailurePolicy",
    ] as const)
      if (!same(now[field], before[field])) errors.invalid(`spec.${field}`, now[field], "field is immutable");
  },
  checkStatus: checkJobStatus,
};

/** The template is always there: the decoder keeps what was sent, and nothing else reads it. */
export function jobSpecOf(object: KubeObject): V1JobSpec {
  object.spec ??= {};
  object.spec["template"] ??= {};
  return object.spec as unknown as V1JobSpec;
}

function checkSelector(errors: FieldErrors, object: KubeObject, spec: V1JobSpec): void {
  const selector = spec.selector?.matchLabels ?? {};
  const labels = spec.template.metadata?.labels ?? {};
  if (!spec.manualSelector && !same(selector, { [UID_LABEL]: object.metadata.uid }))
    errors.invalid("spec.selector", spec.selector, "`selector` not auto-generated");
  if (Object.entries(selector).some(([key, value]) => labels[key] !== value))
    errors.invalid("spec.template.metadata.labels", labels, "`selector` does not match template `labels`");
}

/** The rules of a Job's end, as of JobSuccessPolicy and JobPodReplacementPolicy (KEP 3998 and 3939). */
function checkJobStatus(errors: FieldErrors, next: KubeObject, previous: KubeObject): void {
  const status = statusOf(next);
  const before = statusOf(previous);
  const complete = holds(status.conditions, "Complete");
  const failed = holds(status.conditions, "Failed");
  if (complete && status.completionTime === undefined)
    errors.required("status.completionTime", "completionTime is required for Complete jobs");
  if (!complete && status.completionTime !== undefined)
    errors.invalid(
      "status.completionTime",
      status.completionTime,
      "cannot set completionTime when there is no Complete=True condition",
    );
  for (const field of ["active", "succeeded", "failed", "terminating", "ready"] as const)
    errors.notNegative(`status.${field}`, status[field]);
  if (complete && failed)
    errors.invalid(
      "status.conditions",
      status.conditions,
      "cannot set Complete=True and Failed=True conditions",
    );
  if (complete && !holds(status.conditions, "SuccessCriteriaMet"))
    errors.invalid(
      "status.conditions",
      status.conditions,
      "cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
    );
  if (failed && !holds(status.conditions, "FailureTarget"))
    errors.invalid(
      "status.conditions",
      status.conditions,
      "cannot set Failed=True condition without the FailureTarget=true condition",
    );
  if ((complete || failed) && (status.active ?? 0) > 0)
    errors.invalid("status.active", status.active, "active>0 is invalid for finished job");
  if ((complete || failed) && status.startTime === undefined)
    errors.required("status.startTime", "startTime is required for finished job");
  for (const type of ["Complete", "Failed", "SuccessCriteriaMet", "FailureTarget"])
    if (holds(before.conditions, type) && !holds(status.conditions, type))
      errors.invalid("status.conditions", status.conditions, `cannot disable the ${type}=True condition`);
}

function statusOf({ status = {} }: KubeObject): V1JobStatus {
  return status as V1JobStatus;
}

function holds(conditions: readonly V1JobCondition[] = [], type: string): boolean {
  return conditions.some((condition) => condition.type === type && condition.status === "True");
}
