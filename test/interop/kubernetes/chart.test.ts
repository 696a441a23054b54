import { afterAll, beforeAll, expect, it } from "vitest";
import {
  accessFromKubeconfig,
  ClusterClient,
  ClusterError,
} from "../../../simulators/kubernetes/node/cluster-client.ts";
import { dimensions, isAllowed, valuesOf } from "../../deploy/chart/cases.ts";
import { describeWithHelm, renderAll } from "../../deploy/chart/helm.ts";
import type { Manifest } from "../../deploy/chart/manifest.ts";
import { pairwise } from "../../deploy/chart/pairwise.ts";
import { describeWithKubernetes } from "./with-kubernetes.ts";

const PLURALS: Readonly<Record<string, string>> = {
  ClusterRole: "clusterroles",
  ClusterRoleBinding: "clusterrolebindings",
  ConfigMap: "configmaps",
  Deployment: "deployments",
  NetworkPolicy: "networkpolicies",
  Pod: "pods",
  PodDisruptionBudget: "poddisruptionbudgets",
  PrometheusRule: "prometheusrules",
  Role: "roles",
  RoleBinding: "rolebindings",
  Service: "services",
  ServiceAccount: "serviceaccounts",
  ServiceMonitor: "servicemonitors",
  StatefulSet: "statefulsets",
};
/** A namespace of every cluster, in which nothing is left behind. */
const NAMESPACE = "default";

/** Why a dry run of creating it fails; undefined if it succeeds or the kind is the Prometheus operator's. */
async function refusalOf(manifest: Manifest, client: ClusterClient): Promise<string | undefined> {
  const { apiVersion, kind, metadata } = manifest;
  if (apiVersion.startsWith("monitoring.coreos.com/")) return undefined;
  const root = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const within = metadata.namespace === undefined ? {} : { namespace: NAMESPACE };
  const place = metadata.namespace === undefined ? "" : `/namespaces/${NAMESPACE}`;
  const path = `${root}${place}/${PLURALS[kind]}?dryRun=All&fieldValidation=Strict`;
  try {
    await client.create(path, { ...manifest, metadata: { ...metadata, ...within } });
    return undefined;
  } catch (thrown) {
    if (!(thrown instanceof ClusterError)) throw thrown;
    return `${kind} ${metadata.name}: ${thrown.message}`;
  }
}

describeWithKubernetes("an API server", (kubeconfig) => {
  describeWithHelm("that gets the chart", () => {
    let client: ClusterClient;
    beforeAll(() => {
      client = new ClusterClient(accessFromKubeconfig(kubeconfig));
    });
    afterAll(() => client.close());

    it("accepts what the chart makes, for each pair of features", { timeout: 300_000 }, async () => {
      const { rows } = pairwise(dimensions, isAllowed);
      const rendered = await renderAll(
        Object.fromEntries(rows.map((row, index) => [`row ${index}`, valuesOf(row)])),
      );
      const all = Object.values(rendered).flat();
      const manifests = new Map(all.map((manifest) => [JSON.stringify(manifest), manifest]));

      const refused: string[] = [];
      for (const manifest of manifests.values())
        refused.push(...[await refusalOf(manifest, client)].flatMap((said) => said ?? []));

      expect(manifests.size).toBeGreaterThan(100);
      expect(refused).toEqual([]);
    });

    it("refuses an object with an unknown field", async () => {
      const { one } = await renderAll({ one: valuesOf({ agentIds: "some" }) });
      const deployment = one.find(({ kind }) => kind === "Deployment");

      const spoilt = { ...deployment, spec: { ...(deployment?.["spec"] as object), replica: 1 } };

      expect(await refusalOf(spoilt as unknown as Manifest, client)).toContain(
        'unknown field "spec.replica"',
      );
    });
  });
});
