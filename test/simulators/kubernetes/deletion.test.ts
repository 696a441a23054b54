import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { FakeCluster, type KubeObject } from "./cluster.ts";
import { ClusterClient } from "./node/cluster-client.ts";

const SOON = { timeout: 15_000, interval: 10 };
const PODS = "/api/v1/namespaces/default/pods";
const JOBS = "/apis/batch/v1/namespaces/default/jobs";

let cluster: FakeCluster;
let client: ClusterClient;
afterEach(async () => {
  await client.close();
  await cluster.close();
});

const suspended = {
  suspend: true,
  template: { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "x" }] } },
};

function makeFamily(): { readonly owner: KubeObject; readonly child: KubeObject } {
  const owner = cluster.create("batch/v1", "Job", { metadata: { name: "owner" }, spec: suspended });
  const { uid = "" } = owner.metadata;
  const reference = { apiVersion: "batch/v1", kind: "Job", name: "owner", uid, blockOwnerDeletion: true };
  const child = cluster.create("v1", "Secret", { metadata: { name: "child", ownerReferences: [reference] } });
  return { owner, child };
}

describe("an API server alone", () => {
  beforeEach(async () => {
    cluster = await FakeCluster.start({ controllers: false });
    client = new ClusterClient(cluster.access());
  });

  test("a pod on a node waits out its grace, and goes at once without one", async () => {
    const spec = { nodeName: "n", containers: [{ name: "c", image: "x" }] };
    cluster.create("v1", "Pod", { metadata: { name: "p" }, spec });

    await client.delete(`${PODS}/p`, { gracePeriodSeconds: 5 });
    const marked = cluster.get("v1", "Pod", "p");
    await client.delete(`${PODS}/p`, { gracePeriodSeconds: 0 });

    expect(marked?.metadata).toMatchObject({ deletionGracePeriodSeconds: 5, generation: 2 });
    expect(marked?.metadata.deletionTimestamp).toMatch(/Z$/);
    expect(cluster.get("v1", "Pod", "p")).toBeUndefined();
  });

  test.each([
    ["without a node", undefined, {}],
    ["that ended", "n", { phase: "Succeeded" }],
  ])("a pod %s goes at once", async (_, nodeName, status) => {
    const spec = { containers: [{ name: "c", image: "x" }], ...(nodeName ? { nodeName } : {}) };
    cluster.create("v1", "Pod", { metadata: { name: "p" }, spec });
    cluster.patchStatus("v1", "Pod", "p", status);

    await client.delete(`${PODS}/p`);

    expect(cluster.get("v1", "Pod", "p")).toBeUndefined();
  });

  test("finalizers hold an object until the last is taken away, and none is added meanwhile", async () => {
    cluster.create("v1", "Secret", { metadata: { name: "a", finalizers: ["test/one"] } });

    await client.delete("/api/v1/namespaces/default/secrets/a");
    const held = cluster.get("v1", "Secret", "a");
    const adding = () =>
      cluster.patch("v1", "Secret", "a", { metadata: { finalizers: ["test/one", "test/two"] } });

    expect(held?.metadata.deletionTimestamp).toMatch(/Z$/);
    expect(adding).toThrow("no new finalizers can be added if the object is being deleted");
    cluster.patch("v1", "Secret", "a", { metadata: { finalizers: null } });
    expect(cluster.get("v1", "Secret", "a")).toBeUndefined();
  });

  test("a Job that is deleted without a word keeps its Pods, and waits for a collector to say so", async () => {
    makeFamily();

    await client.delete(`${JOBS}/owner`);

    expect(cluster.get("batch/v1", "Job", "owner")?.metadata.finalizers).toEqual(["orphan"]);
  });

  test("nothing is collected", async () => {
    makeFamily();

    cluster.remove("batch/v1", "Job", "owner");
    await new Promise((resolve) => setImmediate(resolve));

    expect(cluster.get("batch/v1", "Job", "owner")).toBeUndefined();
    expect(cluster.get("v1", "Secret", "child")).toBeDefined();
  });

  test("many go by their labels", async () => {
    for (const [name, kind] of [
      ["a", "one"],
      ["b", "one"],
      ["c", "two"],
    ] as const)
      cluster.create("v1", "Secret", { metadata: { name, labels: { kind } } });

    await client.delete("/api/v1/namespaces/default/secrets?labelSelector=kind%3Done");

    expect(cluster.list("v1", "Secret", "default").map(({ metadata }) => metadata.name)).toEqual(["c"]);
    expect(cluster.countBy("deletecollection", "secrets")).toBe(1);
  });
});

describe("with controllers", () => {
  beforeEach(async () => {
    cluster = await FakeCluster.start();
    client = new ClusterClient(cluster.access());
  });

  test("in the background the owner goes first and the dependants follow", async () => {
    makeFamily();

    await client.delete(`${JOBS}/owner?propagationPolicy=Background`);
    const then = [
      cluster.get("batch/v1", "Job", "owner"),
      cluster.get("v1", "Secret", "child")?.metadata.name,
    ];

    expect(then[0]).toBeUndefined();
    await vi.waitFor(() => expect(cluster.get("v1", "Secret", "child")).toBeUndefined(), SOON);
  });

  test("in the foreground the owner waits for those that block it", async () => {
    const { child } = makeFamily();
    cluster.patch("v1", "Secret", "child", { metadata: { finalizers: ["test/held"] } });

    await client.delete(`${JOBS}/owner?propagationPolicy=Foreground`);
    await vi.waitFor(
      () => expect(cluster.get("v1", "Secret", "child")?.metadata.deletionTimestamp).toBeTruthy(),
      SOON,
    );
    const waiting = cluster.get("batch/v1", "Job", "owner");
    cluster.patch("v1", "Secret", "child", { metadata: { finalizers: null } });

    expect(waiting?.metadata.finalizers).toEqual(["foregroundDeletion"]);
    await vi.waitFor(() => expect(cluster.get("batch/v1", "Job", "owner")).toBeUndefined(), SOON);
    expect(cluster.get("v1", "Secret", child.metadata.name ?? "")).toBeUndefined();
  });

  test("orphans stay and lose their owner", async () => {
    makeFamily();

    await client.delete(`${JOBS}/owner`, { propagationPolicy: "Orphan" });

    await vi.waitFor(() => expect(cluster.get("batch/v1", "Job", "owner")).toBeUndefined(), SOON);
    expect(cluster.get("v1", "Secret", "child")?.metadata.ownerReferences).toBeUndefined();
  });

  test("whoever is made for an owner that is gone goes too", async () => {
    const reference = {
      apiVersion: "batch/v1",
      kind: "Job",
      name: "gone",
      uid: "4f1c8e1e-0000-4000-8000-000000000000",
    };
    cluster.create("v1", "Secret", { metadata: { name: "late", ownerReferences: [reference] } });

    await vi.waitFor(() => expect(cluster.get("v1", "Secret", "late")).toBeUndefined(), SOON);
  });

  test("a namespace goes with all that is in it, and takes nothing new", async () => {
    cluster.create("v1", "Secret", {
      metadata: { name: "a", namespace: "tink-system", finalizers: ["test/held"] },
    });

    await client.delete("/api/v1/namespaces/tink-system");
    const late = () => cluster.create("v1", "Secret", { metadata: { name: "b", namespace: "tink-system" } });

    expect(late).toThrow(
      "unable to create new content in namespace tink-system because it is being terminated",
    );
    await vi.waitFor(() => expect(cluster.list("v1", "ServiceAccount", "tink-system")).toEqual([]), SOON);
    cluster.patch("v1", "Secret", "a", { metadata: { finalizers: null } }, "tink-system");
    await vi.waitFor(() => expect(cluster.get("v1", "Namespace", "tink-system")).toBeUndefined(), SOON);
  });
});
