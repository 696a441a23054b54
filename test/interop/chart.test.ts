import { describe, expect, it } from "vitest";
import { z } from "zod";
import { openAccess } from "../../worker/cluster/client/cluster-access.ts";
import { dimensions, isAllowed, valuesOf } from "../deploy/chart/cases.ts";
import { describeWithHelm, renderAll } from "../deploy/chart/helm.ts";
import type { Manifest } from "../deploy/chart/manifest.ts";
import { pairwise } from "../deploy/chart/pairwise.ts";

const PLURALS: Readonly<Record<string, string>> = {
  ClusterRole: "clusterroles",
  ClusterRoleBinding: "clusterrolebindings",
  ConfigMap: "configmaps",
  Deployment: "deployments",
  NetworkPolicy: "networkpolicies",
  PodDisruptionBudget: "poddisruptionbudgets",
  PrometheusRule: "prometheusrules",
  Role: "roles",
  RoleBinding: "rolebindings",
  Service: "services",
  ServiceAccount: "serviceaccounts",
  ServiceMonitor: "servicemonitors",
  StatefulSet: "statefulsets",
};
/** Every cluster has it, and nothing is left in it. */
const NAMESPACE = "default";
const REQUEST_MS = 20_000;
const Refusal = z.object({ message: z.string() });

const kubeconfig = process.env["KUBECONFIG"];

/** What a dry run of creating it says, field by field; undefined if all is well or the kind is unknown. */
async function refusalOf(
  manifest: Manifest,
  access: Awaited<ReturnType<typeof openAccess>>,
): Promise<string | undefined> {
  const { apiVersion, kind, metadata } = manifest;
  const root = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const place = metadata.namespace === undefined ? "" : `/namespaces/${NAMESPACE}`;
  const query = "dryRun=All&fieldValidation=Strict";
  const { headers, dispatcher } = await access.credentials();
  const { statusCode, body } = await dispatcher.request({
    origin: access.server,
    path: `${root}${place}/${PLURALS[kind]}?${query}`,
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify({
      ...manifest,
      metadata: { ...metadata, ...(metadata.namespace !== undefined && { namespace: NAMESPACE }) },
    }),
    headersTimeout: REQUEST_MS,
    bodyTimeout: REQUEST_MS,
  });
  const text = await body.text();
  if (statusCode === 201) return undefined;
  // The Prometheus operator's kinds, where it is not installed.
  if (statusCode === 404 && apiVersion.startsWith("monitoring.coreos.com/")) return undefined;
  const parsed = Refusal.safeParse(text.startsWith("{") ? JSON.parse(text) : {});
  return `${kind} ${metadata.name}: ${parsed.success ? parsed.data.message : `HTTP ${statusCode}`}`;
}

function tests(): void {
  it("takes what the chart makes, for each pair of features", { timeout: 300_000 }, async () => {
    const { rows } = pairwise(dimensions, isAllowed);
    const rendered = await renderAll(
      Object.fromEntries(rows.map((row, index) => [`row ${index}`, valuesOf(row)])),
    );
    const manifests = new Map(
      Object.values(rendered)
        .flat()
        .map((manifest) => [JSON.stringify(manifest), manifest]),
    );
    const access = await openAccess(kubeconfig);

    try {
      const refused: string[] = [];
      for (const manifest of manifests.values())
        refused.push(...[await refusalOf(manifest, access)].flatMap((said) => said ?? []));

      expect(manifests.size).toBeGreaterThan(100);
      expect(refused).toEqual([]);
    } finally {
      await access.close();
    }
  });

  it("refuses it with a field that does not exist", async () => {
    const { one } = await renderAll({ one: valuesOf({ agentIds: "some" }) });
    const deployment = one.find(({ kind }) => kind === "Deployment");
    const access = await openAccess(kubeconfig);

    try {
      const spoilt = { ...deployment, spec: { ...(deployment?.["spec"] as object), replica: 1 } };
      expect(await refusalOf(spoilt as unknown as Manifest, access)).toContain(
        'unknown field "spec.replica"',
      );
    } finally {
      await access.close();
    }
  });
}

if (kubeconfig) describeWithHelm("a real API server", tests);
else {
  process.stderr.write("skipped, KUBECONFIG names no cluster: what an API server says of the chart\n");
  describe.skip("a real API server", tests);
}
