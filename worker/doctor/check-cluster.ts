import { textOf } from "../../shared/text-of.ts";
import { TimeoutReached, withTimeout } from "../../shared/timeout.ts";
import type { CauseName } from "../findings/causes.ts";
import { checkRights } from "../findings/check-rights.ts";
import { type Finding, findingOf, okFinding } from "../findings/finding.ts";
import { Cluster } from "../kubernetes/client/cluster.ts";
import { KubernetesError, type KubernetesReason } from "../kubernetes/client/kubernetes-error.ts";
import { neededRights } from "../main/needed-rights.ts";
import { FEATURES, type WorkerConfig } from "../main/settings.ts";

/** Whether the clusters that the settings use answer and grant what is needed; nothing if they need none. */
export async function checkCluster(
  config: WorkerConfig,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  if (!config.kubernetes) return [];
  const [own, elsewhere] = await Promise.all([
    neededRights(config).length > 0 ? checkOwn(config, timeoutMs, signal) : [],
    checkFeatures(config, undefined, timeoutMs, signal),
  ]);
  return [...own, ...elsewhere];
}

async function checkOwn(
  config: WorkerConfig,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  let cluster: Cluster | undefined;
  try {
    cluster = await Cluster.open({ ...config.kubernetes, requestTimeoutMs: timeoutMs });
    const opened = cluster;
    return await withTimeout(timeoutMs, signal, (bound) => findingsIn(opened, config, timeoutMs, bound));
  } catch (thrown) {
    signal.throwIfAborted();
    return [failure(thrown, cluster?.server, timeoutMs)];
  } finally {
    await cluster?.close();
  }
}

async function findingsIn(
  cluster: Cluster,
  config: WorkerConfig,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const version = await cluster.version(signal);
  const scopes = { own: cluster.namespace, watched: config.kubernetes?.watchNamespace ?? cluster.namespace };
  const needed = neededRights(config);
  const found = await Promise.all([
    ...needed.map(({ name, rights }) => checkRights(name, rights, cluster, scopes, signal)),
    checkFeatures(config, cluster, timeoutMs, signal),
  ]);
  const parts = needed.map(({ name }) => name).join(", ");
  const well = okFinding(
    "cluster",
    `${version}, namespace ${cluster.namespace}, for ${parts}`,
    cluster.server,
  );
  return [well, ...found.flat()];
}

/** Runs the checks of the features in the worker's own cluster or, without one, in others. */
async function checkFeatures(
  config: WorkerConfig,
  cluster: Cluster | undefined,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const found = FEATURES.map((feature) => feature.check?.(config, { cluster, timeoutMs }, signal) ?? []);
  return (await Promise.all(found)).flat();
}

const CAUSES_OF: Partial<Readonly<Record<KubernetesReason, CauseName>>> = {
  invalid: "kubeconfig-wrong",
  unauthorized: "cluster-login",
  unreachable: "cluster-unreachable",
  timeout: "cluster-unreachable",
  unavailable: "cluster-unreachable",
};

function failure(thrown: unknown, server: string | undefined, timeoutMs: number): Finding {
  const subject = { subject: server };
  if (thrown instanceof TimeoutReached) {
    return findingOf("cluster-unreachable", `no answer within ${timeoutMs} ms`, subject);
  }
  const detail = textOf(thrown);
  const reason = thrown instanceof KubernetesError ? thrown.reason : "unexpected";
  return findingOf(CAUSES_OF[reason] ?? "cluster-strange", detail, subject);
}
