import { resolve } from "node:path";
import type { ConfigPart, Loading } from "../../config/part.ts";
import { type SettingsOf, setting } from "../../config/setting.ts";
import { NamespaceName, WatchNamespace } from "../../document/kubernetes-values.ts";
import { Text } from "../../document/value-types.ts";

const settings = {
  kubeconfig: setting(Text.optional(), {
    description: "Kubeconfig file for the cluster",
    type: "file",
    aliases: ["AGENT_KUBERNETES_KUBECONFIG"],
    defaultText: "the pod's own service account, else `$KUBECONFIG`, else `~/.kube/config`",
    chart: "none",
    policyTest: true,
  }),
  kubernetesNamespace: setting(NamespaceName.optional(), {
    description: "Namespace of the worker's own objects: Jobs, copies of Secrets, Leases",
    type: "namespace",
    aliases: ["AGENT_KUBERNETES_NAMESPACE"],
    defaultText: "the pod's, else the kubeconfig context's, else `default`",
    chart: "none",
  }),
  watchNamespace: setting(WatchNamespace.optional(), {
    description: "Namespace to watch for Machines, Hardware, Workflows and Rufio Jobs; `*` means all",
    type: "namespace|*",
    defaultText: "the value of `kubernetesNamespace`",
    chart: { value: "watchNamespace" },
  }),
};
type Given = SettingsOf<typeof settings>;

/** How to reach the worker's own cluster. */
export interface ClusterConfig {
  /** The absolute path of the kubeconfig. */
  readonly kubeconfig?: string | undefined;
  /** The namespace of the worker's own objects; `Cluster` has the default. */
  readonly namespace?: string | undefined;
  /** The namespace to watch; `*` means all, absent means the worker's own. */
  readonly watchNamespace?: string | undefined;
}

interface ClusterPart {
  /** The absolute path of the kubeconfig, for parts that only read the cluster. */
  readonly kubeconfig?: string | undefined;
  /** Absent if the worker does not use a cluster. */
  readonly kubernetes?: ClusterConfig;
}

function config(given: Given, { opensCluster }: Loading): ClusterPart {
  const { kubernetesNamespace: namespace, watchNamespace } = given;
  const kubeconfig = given.kubeconfig === undefined ? undefined : resolve(given.kubeconfig);
  if (!opensCluster) return { kubeconfig };
  return { kubeconfig, kubernetes: { kubeconfig, namespace, watchNamespace } };
}

export const clusterSettings = { group: "Kubernetes", settings, config } satisfies ConfigPart<Given>;
