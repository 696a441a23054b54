import { defined } from "../../shared/defined.ts";
import { textOf } from "../../shared/text-of.ts";
import { TimeoutReached, withTimeout } from "../../shared/timeout.ts";
import { Cluster } from "../cluster/client/cluster.ts";
import {
  isKubernetesError,
  KubernetesError,
  type KubernetesReason,
} from "../cluster/client/kubernetes-error.ts";
import { type ClusterUse, clusterFeatures } from "../compose/cluster/needed-rights.ts";
import type { RufioConfig } from "../config/worker-config.ts";
import { missingLease } from "../source/rufio/rufio-lease.ts";
import type { CauseName } from "./causes.ts";
import { checkMachineSources } from "./check-machine-sources.ts";
import { checkRights } from "./check-rights.ts";
import { type AgentIdUse, checkWorkflows } from "./check-workflows.ts";
import { type Finding, findingOf, okFinding } from "./finding.ts";

/** Whether the API server answers and grants the permissions that the settings need; nothing if they need no cluster. */
export async function checkCluster(
  config: ClusterUse & AgentIdUse,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const { kubernetes } = config;
  if (!kubernetes) return [];
  const [own, sources] = await Promise.all([
    clusterFeatures(config).length > 0 ? checkOwn(config, timeoutMs, signal) : [],
    checkMachineSources(kubernetes, timeoutMs, signal),
  ]);
  return [...own, ...sources];
}

async function checkOwn(
  config: ClusterUse & AgentIdUse,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const { kubernetes } = config;
  let cluster: Cluster | undefined;
  try {
    cluster = await Cluster.open({ ...kubernetes, requestTimeoutMs: timeoutMs });
    const opened = cluster;
    return await withTimeout(timeoutMs, signal, (bound) => findingsIn(opened, config, bound));
  } catch (thrown) {
    signal.throwIfAborted();
    return [failure(thrown, cluster?.server, timeoutMs)];
  } finally {
    await cluster?.close();
  }
}

async function findingsIn(
  cluster: Cluster,
  config: ClusterUse & AgentIdUse,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const version = await cluster.version(signal);
  const scopes = { own: cluster.namespace, watched: config.kubernetes?.watchNamespace ?? cluster.namespace };
  const features = clusterFeatures(config);
  const watched = scopes.watched === "*" ? undefined : scopes.watched;
  const found = await Promise.all([
    ...features.map(({ name, rights }) => checkRights(name, rights, cluster, scopes, signal)),
    checkWorkflows(cluster, watched, config, signal),
    checkLease(cluster, config.kubernetes?.rufio, signal),
  ]);
  const parts = features.map(({ name }) => name).join(", ");
  const well = okFinding(
    "cluster",
    `${version}, namespace ${cluster.namespace}, for ${parts}`,
    cluster.server,
  );
  return [well, ...found.flat()];
}

/** Whether the Lease would show a Rufio that runs; nothing if the Lease cannot be read, which the rights explain. */
async function checkLease(
  cluster: Cluster,
  rufio: RufioConfig | undefined,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  if (!rufio || rufio.alone) return [];
  try {
    const missing = await missingLease(cluster, rufio.leaseNamespace ?? cluster.namespace, signal);
    return missing === undefined ? [] : [findingOf("rufio-lease-missing", missing)];
  } catch (thrown) {
    if (isKubernetesError(thrown, "forbidden")) return [];
    throw thrown;
  }
}

const CAUSES_OF: Partial<Readonly<Record<KubernetesReason, CauseName>>> = {
  invalid: "kubeconfig-wrong",
  unauthorized: "cluster-login",
  unreachable: "cluster-unreachable",
  timeout: "cluster-unreachable",
  unavailable: "cluster-unreachable",
};

function failure(thrown: unknown, server: string | undefined, timeoutMs: number): Finding {
  const subject = defined({ subject: server });
  if (thrown instanceof TimeoutReached) {
    return findingOf("cluster-unreachable", `no answer within ${timeoutMs} ms`, subject);
  }
  const detail = textOf(thrown);
  const reason = thrown instanceof KubernetesError ? thrown.reason : "unexpected";
  return findingOf(CAUSES_OF[reason] ?? "cluster-strange", detail, subject);
}
