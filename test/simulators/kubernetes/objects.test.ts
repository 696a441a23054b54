import {
  BatchV1Api,
  CoordinationV1Api,
  CoreV1Api,
  KubeConfig,
  KubernetesObjectApi,
  V1MicroTime,
} from "@kubernetes/client-node";
import { Agent, fetch } from "undici";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeCluster } from "./cluster.ts";
import { ClusterClient } from "./node/cluster-client.ts";

let cluster: FakeCluster;
let config: KubeConfig;
beforeEach(async () => {
  cluster = await FakeCluster.start({ controllers: false });
  config = new KubeConfig();
  config.loadFromString(cluster.kubeconfig({ namespace: "tink-system" }));
});
afterEach(() => cluster.close());

const jobSpec = { template: { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "x:1" }] } } };
const machine = (name: string, more: object = {}) => ({
  apiVersion: "bmc.tinkerbell.org/v1alpha1",
  kind: "Machine",
  metadata: { name, namespace: "default" },
  spec: { connection: { host: "192.0.2.1", insecureTLS: true, ...more } },
});

test("an object gets a uid, a time and the cluster's next version", async () => {
  const core = config.makeApiClient(CoreV1Api);

  const first = await core.createNamespacedSecret({
    namespace: "default",
    body: { metadata: { name: "a" } },
  });
  const second = await core.createNamespacedSecret({
    namespace: "default",
    body: { metadata: { generateName: "b-" } },
  });

  expect(first.metadata?.uid).toMatch(/^[0-9a-f-]{36}$/);
  expect(first.metadata?.creationTimestamp).toBeInstanceOf(Date);
  expect(first.type).toBe("Opaque");
  expect(second.metadata?.name).toMatch(/^b-[a-z0-9]{5}$/);
  expect(Number(second.metadata?.resourceVersion)).toBe(Number(first.metadata?.resourceVersion) + 1);
});

test("stringData comes back as data and nothing else", async () => {
  const core = config.makeApiClient(CoreV1Api);

  const secret = await core.createNamespacedSecret({
    namespace: "default",
    body: { metadata: { name: "a" }, stringData: { password: "hunter2" } },
  });

  expect(secret.data).toEqual({ password: Buffer.from("hunter2").toString("base64") });
  expect(secret.stringData).toBeUndefined();
});

test("a Job comes back with what the server fills in", async () => {
  const batch = config.makeApiClient(BatchV1Api);

  const job = await batch.createNamespacedJob({
    namespace: "default",
    body: { metadata: { name: "j" }, spec: jobSpec, status: { active: 3 } },
  });

  const uid = job.metadata?.uid;
  expect(job.status).toEqual({});
  expect(job.metadata?.generation).toBe(1);
  expect(job.spec?.selector?.matchLabels).toEqual({ "batch.kubernetes.io/controller-uid": uid });
  expect(job.spec?.template.metadata?.labels).toEqual({
    "batch.kubernetes.io/controller-uid": uid,
    "batch.kubernetes.io/job-name": "j",
    "controller-uid": uid,
    "job-name": "j",
  });
  expect(job.metadata?.labels).toEqual(job.spec?.template.metadata?.labels);
  expect(job.spec).toMatchObject({ backoffLimit: 6, parallelism: 1, completions: 1, suspend: false });
  expect(job.spec?.template.spec?.containers[0]).toMatchObject({
    imagePullPolicy: "IfNotPresent",
    terminationMessagePath: "/dev/termination-log",
    terminationMessagePolicy: "File",
  });
});

test("only the specification raises the generation, and status and specification keep apart", () => {
  const made = cluster.create("bmc.tinkerbell.org/v1alpha1", "Machine", {
    ...machine("m"),
    status: { powerState: "on" },
  });
  const labelled = cluster.patch("bmc.tinkerbell.org/v1alpha1", "Machine", "m", {
    metadata: { labels: { a: "b" } },
  });
  const reported = cluster.patchStatus("bmc.tinkerbell.org/v1alpha1", "Machine", "m", { powerState: "off" });
  const changed = cluster.patch("bmc.tinkerbell.org/v1alpha1", "Machine", "m", {
    spec: { connection: { host: "192.0.2.2" } },
    status: { powerState: "on" },
  });

  expect(made.status).toBeUndefined();
  expect(made.spec).toEqual({ connection: { host: "192.0.2.1", insecureTLS: true, port: 623 } });
  expect([made, labelled, reported, changed].map(({ metadata }) => metadata.generation)).toEqual([
    1, 1, 1, 2,
  ]);
  expect(changed.status).toEqual({ powerState: "off" });
});

test("a write of a status leaves the specification alone", async () => {
  cluster.create("bmc.tinkerbell.org/v1alpha1", "Machine", machine("m"));
  const objects = KubernetesObjectApi.makeApiClient(config);
  const client = new ClusterClient(cluster.access());

  const patched = await client.patch(
    "/apis/bmc.tinkerbell.org/v1alpha1/namespaces/default/machines/m/status",
    {
      metadata: { labels: { a: "b" } },
      spec: { connection: { host: "192.0.2.9" } },
      status: { conditions: [{ type: "Contactable", status: "True" }] },
    },
  );
  await client.close();

  expect(patched.spec).toMatchObject({ connection: { host: "192.0.2.1" } });
  expect(patched.metadata.labels).toBeUndefined();
  expect(patched.status).toEqual({ conditions: [{ type: "Contactable", status: "True" }] });
  const read = await objects.read({
    apiVersion: "bmc.tinkerbell.org/v1alpha1",
    kind: "Machine",
    metadata: { name: "m", namespace: "default" },
  });
  expect(read.metadata?.resourceVersion).toBe(patched.metadata.resourceVersion);
});

test("unknown fields of custom resources go with a warning, those of built-in kinds too", async () => {
  const client = new ClusterClient(cluster.access());
  const body = JSON.stringify(machine("m", { colour: "red" }));

  const answer = await fetchWith(
    cluster,
    "/apis/bmc.tinkerbell.org/v1alpha1/namespaces/default/machines",
    body,
  );
  const second = await fetchWith(
    cluster,
    "/api/v1/namespaces/default/secrets",
    '{"metadata":{"name":"a"},"colour":"red"}',
  );
  const stored = await client.get("/apis/bmc.tinkerbell.org/v1alpha1/namespaces/default/machines/m");
  await client.close();

  expect(answer).toEqual({ status: 201, warning: '299 - "unknown field \\"spec.connection.colour\\""' });
  expect(second).toEqual({ status: 201, warning: '299 - "unknown field \\"colour\\""' });
  expect(stored.spec).toEqual({ connection: { host: "192.0.2.1", insecureTLS: true, port: 623 } });
});

test("a write that changes nothing makes no version and no event", () => {
  const made = cluster.create("v1", "ConfigMap", { metadata: { name: "a" }, data: { a: "b" } });

  const again = cluster.patch("v1", "ConfigMap", "a", { data: { a: "b" } });

  expect(again.metadata.resourceVersion).toBe(made.metadata.resourceVersion);
});

test("of two that read one version of a Lease, the second writer is refused", async () => {
  const coordination = config.makeApiClient(CoordinationV1Api);
  const lease = await coordination.createNamespacedLease({
    namespace: "default",
    body: {
      metadata: { name: "l" },
      spec: { holderIdentity: "a", leaseDurationSeconds: 15, renewTime: new V1MicroTime() },
    },
  });
  const write = (holderIdentity: string) =>
    coordination.replaceNamespacedLease({
      name: "l",
      namespace: "default",
      body: { ...lease, spec: { ...lease.spec, holderIdentity } },
    });

  const won = await write("b");
  const lost = write("c");

  await expect(lost).rejects.toMatchObject({ code: 409 });
  expect(won.spec?.holderIdentity).toBe("b");
  expect(cluster.get("coordination.k8s.io/v1", "Lease", "l")?.spec?.["holderIdentity"]).toBe("b");
});

test("a PUT of a Lease that nobody made makes it", async () => {
  const coordination = config.makeApiClient(CoordinationV1Api);

  const lease = await coordination.replaceNamespacedLease({
    name: "new",
    namespace: "default",
    body: { metadata: { name: "new" }, spec: { holderIdentity: "a" } },
  });

  expect(lease.spec?.holderIdentity).toBe("a");
});

test("a JSON patch, a merge patch and a strategic one each do what they are for", async () => {
  cluster.create("v1", "Pod", {
    metadata: { name: "p", labels: { a: "1", b: "2" } },
    spec: {
      containers: [
        { name: "c", image: "x:1" },
        { name: "d", image: "x:1" },
      ],
    },
  });
  const patch = async (type: string, body: unknown) => {
    const answer = await fetchWith(
      cluster,
      "/api/v1/namespaces/default/pods/p",
      JSON.stringify(body),
      "PATCH",
      type,
    );
    return answer.status;
  };

  const statuses = [
    await patch("application/json-patch+json", [
      { op: "test", path: "/metadata/labels/a", value: "1" },
      { op: "add", path: "/metadata/labels/x~1y", value: "3" },
      { op: "remove", path: "/metadata/labels/b" },
    ]),
    await patch("application/merge-patch+json", { metadata: { labels: { a: null } } }),
    await patch("application/strategic-merge-patch+json", {
      spec: { containers: [{ name: "d", image: "x:2" }] },
    }),
  ];

  const pod = cluster.get("v1", "Pod", "p");
  expect(statuses).toEqual([200, 200, 200]);
  expect(pod?.metadata.labels).toEqual({ "x/y": "3" });
  expect(pod?.spec?.["containers"]).toMatchObject([
    { name: "c", image: "x:1" },
    { name: "d", image: "x:2" },
  ]);
});

test("a body above 3 MiB is too large", async () => {
  const body = JSON.stringify({ metadata: { name: "a" }, data: { a: "x".repeat(3 * 1024 * 1024) } });

  const answer = await fetchWith(cluster, "/api/v1/namespaces/default/configmaps", body);

  expect(answer.status).toBe(413);
});

test("a dry run checks everything and keeps nothing", async () => {
  const core = config.makeApiClient(CoreV1Api);

  const secret = await core.createNamespacedSecret({
    namespace: "default",
    dryRun: "All",
    body: { metadata: { name: "a" } },
  });

  expect(secret.metadata?.name).toBe("a");
  expect(cluster.get("v1", "Secret", "a")).toBeUndefined();
});

test("an enforced restricted namespace keeps Pods out and warns of Jobs", async () => {
  const labels = { "pod-security.kubernetes.io/enforce": "restricted" };
  cluster.create("v1", "Namespace", { metadata: { name: "strict", labels } });
  const securityContext = {
    allowPrivilegeEscalation: false,
    runAsNonRoot: true,
    capabilities: { drop: ["ALL"] },
    seccompProfile: { type: "RuntimeDefault" },
  };
  const pod = (name: string, container: object) => ({
    metadata: { name, namespace: "strict" },
    spec: { containers: [{ name: "c", image: "x", ...container }] },
  });

  const kept = cluster.create("v1", "Pod", pod("good", { securityContext }));
  const refused = () =>
    cluster.create("v1", "Pod", pod("bad", { securityContext: { ...securityContext, runAsUser: 0 } }));
  const warned = await fetchWith(
    cluster,
    "/apis/batch/v1/namespaces/strict/jobs",
    JSON.stringify({ metadata: { name: "j" }, spec: jobSpec }),
  );

  expect(kept.metadata.name).toBe("good");
  expect(refused).toThrow(
    'pods "bad" is forbidden: violates PodSecurity "restricted:latest": runAsUser=0 (container "c" must not set runAsUser=0)',
  );
  expect(warned.status).toBe(201);
  expect(warned.warning).toContain(
    'would violate PodSecurity \\"restricted:latest\\": allowPrivilegeEscalation != false (container \\"c\\" must set',
  );
});

async function fetchWith(
  { url, token, ca }: FakeCluster,
  path: string,
  body: string,
  method = "POST",
  type = "application/json",
): Promise<{ status: number; warning: string | null }> {
  const dispatcher = new Agent({ connect: { ca } });
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": type };
  const answer = await fetch(`${url}${path}`, { method, body, headers, dispatcher });
  const { status } = answer;
  await answer.text();
  await dispatcher.close();
  return { status, warning: answer.headers.get("warning") };
}
