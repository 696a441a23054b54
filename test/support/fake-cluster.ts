import { FakeCluster, type FakeClusterOptions, type RbacRule } from "../../simulators/kubernetes/cluster.ts";
import { Cluster, type ClusterOptions } from "../../worker/kubernetes/client/cluster.ts";
import { type Folder, openFolder } from "./folder.ts";

export interface ClusterLabOptions extends FakeClusterOptions {
  /** The worker's own. */
  readonly namespace?: string;
  /** What the worker may do; everything when absent. */
  readonly rights?: readonly RbacRule[];
}

/** A simulated cluster and the kubeconfig by which a worker reaches it, in the folder of another lab if one is given. */
export async function openFakeCluster(
  { namespace, rights, ...options }: ClusterLabOptions = {},
  at?: Folder,
) {
  const place = at ?? (await openFolder());
  const fake = place.own(await FakeCluster.start(options));
  /** Has the kubeconfig name a user who may do no more than this. */
  const allow = (rules?: readonly RbacRule[]) => {
    const token = rules && fake.addUser("worker", rules);
    const text = fake.kubeconfig({ ...(namespace && { namespace }), ...(token && { token }) });
    return place.write("kubeconfig", text);
  };
  const kubeconfig = await allow(rights);
  return {
    ...place,
    ...{ fake, kubeconfig, allow },
    /** A worker's connection to it. */
    async connect(more: ClusterOptions = {}) {
      const cluster = await Cluster.open({ kubeconfig, ...more });
      place.defer(() => cluster.close());
      return cluster;
    },
  };
}

export type FakeClusterLab = Awaited<ReturnType<typeof openFakeCluster>>;
