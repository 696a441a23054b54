import { textOf } from "../../shared/text-of.ts";
import { TimeoutReached, withTimeout } from "../../shared/timeout.ts";
import { Cluster } from "../cluster/client/cluster.ts";
import { KubernetesError, type KubernetesReason } from "../cluster/client/kubernetes-error.ts";
import { findMissingRights, type RightScopes } from "../cluster/client/missing-rights.ts";
import { type ClusterFeature, type ClusterUse, clusterFeatures } from "../compose/cluster/needed-rights.ts";
import type { CauseName } from "./causes.ts";
import { type AgentIdUse, checkFinishedWorkflows } from "./check-finished-workflows.ts";
import { type Finding, isWell, isWrong, named } from "./finding.ts";

/** Whether the cluster answers, and lets the worker do what its settings ask for; nothing where they ask for none. */
export async function checkCluster(
  config: ClusterUse & AgentIdUse,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const { kubernetes } = config;
  if (!kubernetes) return [];
  let cluster: Cluster | undefined;
  try {
    cluster = await Cluster.open({ ...kubernetes, requestTimeoutMs: timeoutMs });
    const opened = cluster;
    return await withTimeout(timeoutMs, signal, (bound) => look(opened, config, bound));
  } catch (thrown) {
    signal.throwIfAborted();
    return [failure(thrown, cluster?.server, timeoutMs)];
  } finally {
    await cluster?.close();
  }
}

async function look(
  cluster: Cluster,
  config: ClusterUse & AgentIdUse,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const version = await cluster.version(signal);
  const scopes = { own: cluster.namespace, watched: config.kubernetes?.watchNamespace ?? cluster.namespace };
  const features = clusterFeatures(config);
  const watched = scopes.watched === "*" ? undefined : scopes.watched;
  const found = await Promise.all([
    ...features.map((feature) => lookAt(feature, cluster, scopes, signal)),
    checkFinishedWorkflows(cluster, watched, config, signal),
  ]);
  const parts = features.map(({ name }) => name).join(", ");
  const well = isWell("cluster", `${version}, namespace ${cluster.namespace}, for ${parts}`, cluster.server);
  return [well, ...found.flat()];
}

async function lookAt(
  { name, rights }: ClusterFeature,
  cluster: Cluster,
  scopes: RightScopes,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const missing = await findMissingRights(cluster, rights, scopes, signal);
  const needed = missing.filter(({ right }) => right.without === undefined);
  const useful = missing.filter(({ right }) => right.without !== undefined);
  return [
    ...(needed.length > 0
      ? [
          isWrong(
            "cluster-right",
            named(
              needed.map(({ text }) => text),
              20,
            ),
            {
              subject: name,
              facts: { why: needed[0]?.right.why ?? "" },
            },
          ),
        ]
      : []),
    ...useful.map(({ text, right }) =>
      isWrong("cluster-right-useful", `${text}: without it, ${right.without}`, { subject: name }),
    ),
  ];
}

const CAUSES_OF: Partial<Readonly<Record<KubernetesReason, CauseName>>> = {
  invalid: "kubeconfig-wrong",
  unauthorized: "cluster-login",
  unreachable: "cluster-unreachable",
  timeout: "cluster-unreachable",
  unavailable: "cluster-unreachable",
};

function failure(thrown: unknown, server: string | undefined, timeoutMs: number): Finding {
  const subject = server === undefined ? {} : { subject: server };
  if (thrown instanceof TimeoutReached) {
    return isWrong("cluster-unreachable", `no answer within ${timeoutMs} ms`, subject);
  }
  const detail = textOf(thrown);
  const reason = thrown instanceof KubernetesError ? thrown.reason : "unexpected";
  return isWrong(CAUSES_OF[reason] ?? "cluster-strange", detail, subject);
}
