import type { ConfigPart } from "../../config/part.ts";
import { type SettingsOf, setting } from "../../config/setting.ts";
import { AnnotationPair, LabelPair, ObjectNameText, Toleration } from "../../document/kubernetes-values.ts";
import { Duration, List } from "../../document/value-types.ts";
import { type ContainerSettings, containerConfig } from "../container-settings.ts";
import type { PodConfig } from "./job-spec.ts";

const settings = {
  kubernetesServiceAccount: setting(ObjectNameText.optional(), {
    description: "Service account of the action pods, used to pull images; the pods get no token",
    type: "name",
    aliases: ["AGENT_KUBERNETES_SERVICE_ACCOUNT"],
    defaultText: "the namespace's `default`",
    chart: { value: "runtime.pods.serviceAccount" },
  }),
  podStartTimeout: setting(Duration(1_000, 3_600_000).prefault("5m"), {
    description: "Time limit for scheduling an action's pod, pulling its image and starting its container",
    type: "duration",
    chart: { value: "runtime.pods.startTimeout" },
  }),
  podNodeSelector: setting(List(LabelPair).prefault([]), {
    description: "Label that nodes must have to run actions",
    type: "name=value",
    chart: { derivedFrom: "runtime.pods.nodeSelector" },
  }),
  podTolerations: setting(List(Toleration).prefault([]), {
    description: "Taint that actions tolerate; without a value, any value; without an effect, every effect",
    type: "key[=value][:effect]",
    chart: { derivedFrom: "runtime.pods.tolerations" },
  }),
  podPullSecrets: setting(List(ObjectNameText).prefault([]), {
    description: "Secret for pulling the images of actions",
    type: "name",
    chart: { value: "runtime.pods.pullSecrets" },
  }),
  podLabels: setting(List(LabelPair).prefault([]), {
    description: "Additional label for the Jobs and pods of actions",
    type: "name=value",
    chart: { derivedFrom: "runtime.pods.labels" },
  }),
  podAnnotations: setting(List(AnnotationPair).prefault([]), {
    description: "Additional annotation for the pods of actions",
    type: "name=value",
    chart: { derivedFrom: "runtime.pods.annotations" },
  }),
};
type Given = SettingsOf<typeof settings>;

export function podConfig(given: Given & ContainerSettings): PodConfig {
  const { kubernetesServiceAccount: serviceAccount } = given;
  return {
    ...containerConfig(given),
    startTimeoutMs: given.podStartTimeout,
    serviceAccount,
    nodeSelector: given.podNodeSelector,
    tolerations: given.podTolerations,
    pullSecrets: given.podPullSecrets,
    labels: given.podLabels,
    annotations: given.podAnnotations,
  };
}

export const podSettings = {
  group: "Kubernetes runtime",
  settings,
  cluster: ({ runtime }) => (runtime === "kubernetes" ? "used" : undefined),
} satisfies ConfigPart<Given & { readonly runtime: string }>;
