import type { V1PodSpec } from "@kubernetes/client-node";
import { beforeAll, expect, it } from "vitest";
import { z } from "zod";
import { systemClock } from "../../../../shared/clock.ts";
import { Health } from "../../../../worker/features/health/health.ts";
import type { WorkerFacts } from "../../../../worker/features/shared/facts.ts";
import type { Route } from "../../../../worker/listener/http/route.ts";
import { dimensions, isAllowed, present, valuesOf } from "../../../deploy/chart/cases.ts";
import { describeWithHelm, NAMESPACE, renderAll } from "../../../deploy/chart/helm.ts";
import { allOf, Binding, Labels, Manifest, selects, workloadOf } from "../../../deploy/chart/manifest.ts";
import { mountedFiles } from "../../../deploy/chart/mounted-files.ts";
import { pairwise } from "../../../deploy/chart/pairwise.ts";
import { violationsOfRestricted } from "../../../support/pod-security.ts";

const Service = Manifest.extend({ spec: z.object({ selector: Labels }) });

const { rows, uncovered } = pairwise(dimensions, isAllowed);
const cases = Object.fromEntries(rows.map((row, index) => [`row ${index}`, valuesOf(row)]));

const noFacts: WorkerFacts = {
  machines: () => [],
  agentIds: () => [],
  slots: () => ({ limit: 1, taken: 0 }),
  unfinished: () => 0,
  connected: () => false,
  checkRuntime: async () => "",
};

function isServed(path: string): boolean {
  const { routes } = new Health({ clock: systemClock, longestWaitMs: 1_000 });
  return routes(noFacts).some(({ path: served }: Route) =>
    typeof served === "string" ? served === path : served.test(path),
  );
}

describeWithHelm("what the chart makes, for each pair of features", () => {
  let rendered: Readonly<Record<string, readonly Manifest[]>>;
  beforeAll(async () => {
    rendered = await renderAll(cases);
  });

  it("is looked at for each pair that goes together", () => {
    expect(rows.length).toBeGreaterThan(20);
    expect(uncovered).toEqual([
      "runtime=inProcess leader=three",
      "runtime=inProcess leader=named",
      "runtime=inProcess leader=shards",
      "runtime=process leader=three",
      "runtime=process leader=named",
      "runtime=process leader=shards",
      "agentIds=some pbnj=alone",
      "fileInventory=none credentials=mounted",
      "clusterInventory=machines rufio=new",
      "clusterInventory=both rufio=new",
      "wakeUp=on pbnj=alone",
      "leader=three state=existing",
      "leader=shards state=existing",
      "leader=shards pbnj=open",
      "leader=shards pbnj=alone",
      "tls=insecure pbnj=alone",
      "tls=verified pbnj=alone",
      "tls=mutual pbnj=alone",
    ]);
  });

  it("has names that Kubernetes takes, each once, in the release's namespace but for rights elsewhere", () => {
    for (const manifests of Object.values(rendered)) {
      const names = manifests.map(
        ({ kind, metadata }) => `${kind} ${metadata.namespace ?? "-"} ${metadata.name}`,
      );
      const elsewhere = manifests
        .filter(({ metadata }) => metadata.namespace !== NAMESPACE)
        .map(({ kind }) => kind);

      expect(new Set(names).size).toBe(names.length);
      for (const { metadata } of manifests)
        expect(metadata.name).toMatch(/^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$/);
      for (const kind of elsewhere) expect(kind).toMatch(/^(Cluster)?Role(Binding)?$/);
    }
  });

  it("runs pods that the restricted Pod Security Standard admits, except for the node's network", () => {
    for (const manifests of Object.values(rendered)) {
      const { spec } = workloadOf(manifests).spec.template;
      const test = manifests.find(({ kind }) => kind === "Pod");
      const violations = violationsOfRestricted(spec as unknown as V1PodSpec);

      expect(violations).toEqual(spec["hostNetwork"] ? ["hostNetwork"] : []);
      expect(violationsOfRestricted(test?.["spec"] as V1PodSpec)).toEqual([]);
    }
  });

  it("gives every object and pod the common labels, which do not replace the chart's own", () => {
    const labelled = rows.flatMap((row, index) =>
      row["name"] === "part" ? [rendered[`row ${index}`] ?? []] : [],
    );

    expect(labelled.length).toBeGreaterThan(0);
    for (const manifests of labelled) {
      for (const { metadata } of manifests) expect(metadata.labels["team"]).toBe("metal");
      const { labels } = workloadOf(manifests).spec.template.metadata;
      expect(labels).toMatchObject({ team: "metal", "app.kubernetes.io/component": "worker" });
      expect(workloadOf(manifests).metadata.name).toBe("demo-power");
    }
  });

  it("tests a release through the Service, with a pod that the Service does not select", () => {
    for (const manifests of Object.values(rendered)) {
      const pod = manifests.find(({ kind }) => kind === "Pod");
      const service = manifests.find(({ kind }) => kind === "Service");
      const { selector } = z.looseObject({ selector: Labels }).parse(service?.["spec"]);

      expect(JSON.stringify(pod?.["spec"])).toContain(`://${service?.metadata.name}:`);
      expect(pod?.metadata).toMatchObject({ annotations: { "helm.sh/hook": "test" } });
      expect(selects(selector, pod?.metadata.labels ?? {})).toBe(false);
    }
  });

  it("mounts volumes that the pod has, of objects that are there", () => {
    for (const manifests of Object.values(rendered)) {
      const { spec } = workloadOf(manifests);
      const pod = spec.template.spec;
      const claims = (spec.volumeClaimTemplates ?? []).map(({ metadata }) => metadata.name);
      const volumes = [...pod.volumes.map(({ name }) => name), ...claims];
      const mounts = pod.containers[0].volumeMounts;

      expect(mounts.map(({ name }) => name).sort()).toEqual(volumes.toSorted());
      expect(new Set(mounts.map(({ mountPath }) => mountPath)).size).toBe(mounts.length);
      expect([...mountedFiles(spec.template, manifests, present).keys()]).toContain(
        "/etc/pbnj-worker/worker.yaml",
      );
    }
  });

  it("is one whose parts find each other", () => {
    for (const manifests of Object.values(rendered)) {
      const { spec } = workloadOf(manifests);
      const { labels } = spec.template.metadata;
      const accounts = manifests
        .filter(({ kind }) => kind === "ServiceAccount")
        .map(({ metadata }) => metadata.name);
      const services = allOf(manifests, ["Service"], Service);
      const scraped = services.filter(({ metadata }) => metadata.labels["pbnj-worker/scraped"] === "true");
      const roles = manifests.map(
        ({ kind, metadata }) => `${kind} ${metadata.namespace ?? "-"} ${metadata.name}`,
      );

      expect(selects(spec.selector.matchLabels, labels)).toBe(true);
      expect(scraped.map((service) => service.spec.selector)).toEqual([spec.selector.matchLabels]);
      const leader = { ...spec.selector.matchLabels, "pbnj-worker/leader": "true" };
      for (const service of services)
        expect(service.spec.selector).toEqual(scraped.includes(service) ? spec.selector.matchLabels : leader);
      if (spec.serviceName !== undefined) expect(scraped[0]?.metadata.name).toBe(spec.serviceName);
      if (accounts.length > 0) expect(accounts).toEqual([spec.template.spec.serviceAccountName]);
      for (const { metadata, roleRef, subjects } of allOf(
        manifests,
        ["RoleBinding", "ClusterRoleBinding"],
        Binding,
      )) {
        expect(roles).toContain(`${roleRef.kind} ${metadata.namespace ?? "-"} ${roleRef.name}`);
        expect(subjects[0]).toMatchObject({
          name: spec.template.spec.serviceAccountName,
          namespace: NAMESPACE,
        });
      }
      for (const budget of manifests.filter(({ kind }) => kind === "PodDisruptionBudget")) {
        expect(budget["spec"]).toMatchObject({ selector: spec.selector });
      }
      for (const monitor of manifests.filter(({ kind }) => kind === "ServiceMonitor")) {
        expect(monitor["spec"]).toMatchObject({
          selector: { matchLabels: { ...spec.selector.matchLabels, "pbnj-worker/scraped": "true" } },
          endpoints: [{ port: "http", path: "/metrics" }],
          // What the alert rules call the job is a label of the Service.
          jobLabel: "app.kubernetes.io/name",
        });
        expect(services[0]?.metadata.labels["app.kubernetes.io/name"]).toBe("pbnj-worker");
      }
    }
  });

  it("asks for health where the worker serves it, on the port that it listens on", () => {
    for (const manifests of Object.values(rendered)) {
      const [container] = workloadOf(manifests).spec.template.spec.containers;
      const { startupProbe, livenessProbe, readinessProbe, ports } = container;

      for (const { httpGet } of [startupProbe, livenessProbe, readinessProbe]) {
        expect(isServed(httpGet.path), httpGet.path).toBe(true);
        expect(ports.map(({ name }) => name)).toContain(httpGet.port);
      }
      // A restart does not fix what readiness checks.
      expect(livenessProbe.httpGet.path).toBe("/healthz");
      expect(readinessProbe.httpGet.path).toBe("/readyz");
    }
  });

  it("has no token where the cluster is not used, and pods one at a time where they have something to lose", () => {
    for (const [name, values] of Object.entries(cases)) {
      const { kind, spec } = workloadOf(rendered[name] ?? []);
      const row = rows[Number(name.slice(4))] ?? {};
      const isUsed =
        row["runtime"] === "jobs" ||
        row["clusterInventory"] !== "none" ||
        row["rufio"] !== "off" ||
        row["wakeUp"] === "on" ||
        row["otherClusters"] !== "none";
      const isKept = row["state"] === "claim" || row["state"] === "existing";
      const hasState = row["runtime"] !== "jobs" || isKept || row["leader"] === "shards";
      const rolls = ["three", "named"].includes(row["leader"] ?? "") || row["placing"] === "set";

      expect(spec.template.spec.automountServiceAccountToken, JSON.stringify(values)).toBe(isUsed);
      expect(kind).toBe(hasState ? "StatefulSet" : "Deployment");
      if (!hasState) expect(spec.strategy?.type).toBe(rolls ? "RollingUpdate" : "Recreate");
      expect(spec.template.spec.shareProcessNamespace ?? false).toBe(row["runtime"] === "process");
    }
  });
});
