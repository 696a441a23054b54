import * as z from "zod/mini";
import { textOf } from "../../../shared/text-of.ts";
import { withTimeout } from "../../../shared/timeout.ts";
import { checkRights } from "../../findings/check-rights.ts";
import { type Finding, findingOf, okFinding } from "../../findings/finding.ts";
import { Cluster } from "../../kubernetes/client/cluster.ts";
import type { ClusterConfig } from "../../kubernetes/client/cluster-settings.ts";
import { KINDS, keyOf } from "../../kubernetes/client/kinds.ts";
import { identityTextOf, selectionOf } from "./identity-secret.ts";
import { rightsFor } from "./machine-rights.ts";
import type { MachineSourceConfig } from "./machine-settings.ts";
import { checkPaused } from "./paused.ts";

/** Reports the paused objects of the worker's own cluster. */
export async function checkOwnSources(
  sources: readonly MachineSourceConfig[],
  cluster: Cluster,
  watched: string | undefined,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const own = sources.filter(({ access }) => access === undefined);
  const found = own.map(({ inventory, watchNamespace = watched ?? cluster.namespace }) =>
    checkPaused(cluster, { inventory, watchNamespace }, signal),
  );
  return (await Promise.all(found)).flat();
}

/** Checks that the other clusters with machines answer, and that they grant the worker its rights. Reports their paused objects. */
export async function checkMachineSources(
  sources: readonly MachineSourceConfig[],
  kubernetes: ClusterConfig,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const others = sources.filter(({ access }) => access !== undefined);
  const found = others.map((source) => checkSource(source, kubernetes, timeoutMs, signal));
  return (await Promise.all(found)).flat();
}

async function checkSource(
  source: MachineSourceConfig,
  kubernetes: ClusterConfig,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const subject = `source ${source.name}`;
  let cluster: Cluster | undefined;
  try {
    return await withTimeout(timeoutMs, signal, async (bound) => {
      const opened = await openSource(source, kubernetes, timeoutMs, bound);
      cluster = opened;
      const version = await opened.version(bound);
      const namespace = source.watchNamespace ?? opened.namespace;
      const scopes = { own: opened.namespace, watched: namespace };
      const missing = await checkRights(subject, rightsFor(source.inventory), opened, scopes, bound);
      return [
        okFinding("cluster", `${version}, namespace ${namespace}, at ${opened.server}`, subject),
        ...missing,
        ...(await checkPaused(opened, { inventory: source.inventory, watchNamespace: namespace }, bound)),
      ];
    });
  } catch (thrown) {
    signal.throwIfAborted();
    return [findingOf("machine-source", textOf(thrown), { subject })];
  } finally {
    await cluster?.close();
  }
}

async function openSource(
  { access }: MachineSourceConfig,
  kubernetes: ClusterConfig,
  requestTimeoutMs: number,
  signal: AbortSignal,
): Promise<Cluster> {
  const { contextName } = access ?? {};
  if (access?.kind !== "identity") {
    return Cluster.open({ kubeconfig: access?.path, contextName, requestTimeoutMs });
  }
  const own = await Cluster.open({ ...kubernetes, requestTimeoutMs });
  try {
    const secret = { namespace: own.namespace, name: access.secret };
    const { items } = await own.list(KINDS.secret, selectionOf(secret), z.unknown(), signal);
    const found = items.length === 0 ? { problem: "does not exist" } : identityTextOf(items[0]);
    if ("problem" in found) throw new Error(`Secret ${keyOf(secret)} ${found.problem}`);
    return await Cluster.openIdentity(found.text.reveal(), { contextName, requestTimeoutMs });
  } finally {
    await own.close();
  }
}
