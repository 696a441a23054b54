import type { ResourceType } from "../api/resource-type.ts";
import { jobV1, jobV2, machineV1, taskV1 } from "./bmc-schemas.ts";
import type { Schema } from "./schema.ts";
import { hardwareV1, hardwareV2, templateV1, workflowV1, workflowV2 } from "./tinkerbell-schemas.ts";

const BMC = "bmc.tinkerbell.org";
const TINKERBELL = "tinkerbell.org";

/** Tinkerbell's own kinds, each a definition that a cluster may lack. */
export const CUSTOM_TYPES: readonly ResourceType[] = [
  custom(BMC, "v1alpha1", "Machine", "machines", machineV1),
  custom(BMC, "v1alpha1", "Job", "jobs", jobV1, "j"),
  custom(BMC, "v1alpha1", "Task", "tasks", taskV1, "t"),
  custom(TINKERBELL, "v1alpha1", "Hardware", "hardware", hardwareV1, "hw"),
  custom(TINKERBELL, "v1alpha1", "Template", "templates", templateV1, "tpl"),
  custom(TINKERBELL, "v1alpha1", "Workflow", "workflows", workflowV1, "wf"),
  custom(BMC, "v1alpha2", "Job", "jobs", jobV2, "j"),
  custom(TINKERBELL, "v1alpha2", "Hardware", "hardware", hardwareV2, "hw"),
  custom(TINKERBELL, "v1alpha2", "Workflow", "workflows", workflowV2, "wf"),
];

function custom(
  group: string,
  version: string,
  kind: string,
  plural: string,
  schema: Schema,
  shortName?: string,
): ResourceType {
  return {
    group,
    version,
    kind,
    plural,
    singular: kind.toLowerCase(),
    namespaced: true,
    subresources: ["status"],
    updateNeedsVersion: true,
    schema,
    ...(shortName === undefined ? {} : { shortNames: [shortName] }),
  };
}
