import { resolve } from "node:path";
import { defined } from "../../../shared/defined.ts";
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

/** How the worker's own cluster is reached. */
export interface ClusterConfig {
  /** Absolute. */
  readonly kubeconfig?: string;
  /** The namespace of the worker's own objects; `Cluster` has the default. */
  readonly namespace?: string;
  /** The namespace to watch; `*` means all, absent means the worker's own. */
  readonly watchNamespace?: string;
}

interface ClusterPart {
  /** Absolute path, for parts that only read the cluster. */
  readonly kubeconfig?: string;
  /** Absent if the worker does not use a cluster. */
  readonly kubernetes?: ClusterConfig;
}

function config(given: Given, { opensCluster }: Loading): ClusterPart {
  const { kubernetesNamespace: namespace, watchNamespace } = given;
  const access = defined({
    kubeconfig: given.kubeconfig === undefined ? undefined : resolve(given.kubeconfig),
  });
  if (!opensCluster) return access;
  return { ...access, kubernetes: { ...access, ...defined({ namespace, watchNamespace }) } };
}

export const clusterSettings = { group: "Kubernetes", settings, config } satisfies ConfigPart<Given>;
