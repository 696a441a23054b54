import type { Logger } from "../../../shared/logger.ts";
import { Cluster } from "../../cluster/client/cluster.ts";
import type { ExecutionConfig, KubernetesConfig } from "../../config/worker-config.ts";
import type { Inventory } from "../../machines/inventory.ts";
import {
  KubernetesRuntime,
  type KubernetesRuntimeOptions,
} from "../../runtime/kubernetes/kubernetes-runtime.ts";
import { ClusterSide, type ClusterSideOptions } from "./kubernetes-services.ts";
import { runInventory } from "./run-inventory.ts";

/**
 * A cluster and what is built on it. Everything of Kubernetes is behind this module, which is imported late: a worker that uses no
 * cluster does not load it.
 */
export class OpenedCluster {
  readonly cluster: Cluster;

  private constructor(cluster: Cluster) {
    this.cluster = cluster;
  }

  /** Reads how to reach it, and sends nothing yet. Rejects with a `KubernetesError`. */
  static async open(config: KubernetesConfig): Promise<OpenedCluster> {
    return new OpenedCluster(await Cluster.open(config));
  }

  runtime(options: Omit<KubernetesRuntimeOptions, "cluster">): KubernetesRuntime {
    return new KubernetesRuntime({ ...options, cluster: this.cluster });
  }

  side(options: Omit<ClusterSideOptions, "cluster">): ClusterSide {
    return new ClusterSide({ ...options, cluster: this.cluster });
  }

  /** The inventory of a run by hand. */
  machinesFor(config: ExecutionConfig, log: Logger, stop: AbortSignal): Promise<Inventory> {
    return runInventory(config, { cluster: this.cluster, log }, stop);
  }

  async close(): Promise<void> {
    await this.cluster.close();
  }
}
