import type { V1PodSpec } from "@kubernetes/client-node";
import { type KubeObject, same } from "../api/object.ts";
import { checkPodSpec } from "../validation/pod-spec.ts";
import { encodedConditions, encodedContainerStatuses } from "./encode-status.ts";
import type { KindRules } from "./kind-rules.ts";
import { completePod, completePodSpec, qualityOfService } from "./pod-defaults.ts";

export const podRules: KindRules = {
  prepare(object) {
    const spec = specOf(object);
    object.status = { phase: "Pending", qosClass: qualityOfService(spec) };
  },
  complete(object) {
    object.spec ??= {};
    completePodSpec(specOf(object));
    completePod(specOf(object));
  },
  completeStatus(object) {
    const { status } = object;
    if (!status) return;
    if (status["conditions"]) status["conditions"] = encodedConditions(status["conditions"]);
    for (const list of ["containerStatuses", "initContainerStatuses"])
      if (status[list]) status[list] = encodedContainerStatuses(status[list]);
    if (status["podIP"] && !status["podIPs"]) status["podIPs"] = [{ ip: status["podIP"] }];
  },
  check: (errors, object) => checkPodSpec(errors, "spec", specOf(object)),
  checkUpdate(errors, next, previous) {
    if (!same(fixedPart(next), fixedPart(previous)))
      errors.forbidden(
        "spec",
        "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
      );
  },
};

/** The decoder made sure that the shape is the model's. */
export function specOf(object: KubeObject): V1PodSpec {
  return (object.spec ?? {}) as unknown as V1PodSpec;
}

/** What an update must leave as it is. */
function fixedPart(object: KubeObject): unknown {
  const { activeDeadlineSeconds: _, tolerations: __, ...spec } = specOf(object);
  const withoutImage = ({ image: _image, ...container }: { image?: string | undefined }) => container;
  return {
    ...spec,
    containers: spec.containers?.map(withoutImage),
    initContainers: spec.initContainers?.map(withoutImage),
  };
}
