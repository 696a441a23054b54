import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { parseImageReference } from "../../action/image-reference.ts";
import { Cluster } from "../../cluster/client/cluster.ts";
import { Leadership } from "../../cluster/leader/leadership.ts";
import type { KubernetesConfig } from "../../config/worker-config.ts";
import { HostRuntime } from "../../runtime/baremetalhost/host-runtime.ts";
import { KubernetesRuntime } from "../../runtime/kubernetes/kubernetes-runtime.ts";
import { missingLease } from "../../source/rufio/rufio-lease.ts";
import type { OpenedCluster } from "../cluster-services.ts";
import { KubernetesServices } from "./kubernetes-services.ts";
import { runInventory } from "./run-inventory.ts";

const LEASE_MS = 10_000;

/**
 * Reads how to reach the cluster, and sends nothing yet. Rejects with a `KubernetesError`. This module is imported lazily: a
 * worker without a cluster loads nothing of Kubernetes.
 */
export async function openKubernetes(kubernetes: KubernetesConfig): Promise<OpenedCluster> {
  const cluster = await Cluster.open(kubernetes);
  const opened: { close(): Promise<void> }[] = [cluster];
  const onOpen = (one: { close(): Promise<void> }) => void opened.push(one);
  return {
    async refusal() {
      const { rufio } = kubernetes;
      if (!rufio || rufio.alone) return undefined;
      const namespace = rufio.leaseNamespace ?? cluster.namespace;
      // A cluster that does not answer is no reason: the worker does none of Rufio's work until it has seen the Lease.
      const missing = await missingLease(cluster, namespace, AbortSignal.timeout(LEASE_MS)).catch(
        () => undefined,
      );
      return (
        missing &&
        `${missing}. Fix: start Rufio once with --rufio-controller-enable-leader-election=true, or set --rufio-alone if no Rufio runs`
      );
    },
    runtime({ config, pods, state, isLeading, library, log }) {
      const group = kubernetes.leaderElection?.group;
      return new KubernetesRuntime({
        cluster,
        pods,
        owner: group ?? state?.id ?? randomUUID(),
        shared: group !== undefined,
        isLeading,
        log,
        stopGraceMs: config.stopGraceMs,
        isIdempotent: async (image) => {
          const name = parseImageReference(image)?.name;
          return name !== undefined && ((await library.find(name))?.idempotent ?? false);
        },
      });
    },
    withHosts(base, { config, inventory, library: actions, log, state }) {
      const isUsed =
        kubernetes.managedHosts === "via-host" && kubernetes.inventory.includes("baremetalhosts");
      const { stopGraceMs } = config;
      return isUsed
        ? new HostRuntime(base, { inventory, actions, state: state?.id, log, stopGraceMs })
        : base;
    },
    leadership(clock, log) {
      const lease = kubernetes.leaderElection?.lease;
      return lease === undefined
        ? undefined
        : new Leadership({ cluster, lease, host: hostname(), clock, log });
    },
    services: (options) => new KubernetesServices({ ...options, cluster, kubernetes }),
    inventory: ({ inventory: file, policy }, log, stop) =>
      runInventory({ file, kubernetes, policy, cluster, log, onOpen }, stop),
    close: async () => {
      await Promise.all(opened.map((one) => one.close()));
    },
  };
}
