import { Agent, request } from "undici";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { FakeCluster, type KubeObject, type RbacRule } from "../../../simulators/kubernetes/cluster.ts";
import { ClusterClient } from "../../../simulators/kubernetes/node/cluster-client.ts";

const SOON = { timeout: 15_000, interval: 10 };
const SECRETS = "/api/v1/namespaces/default/secrets";
const JOB = "/apis/batch/v1/namespaces/default/jobs/owner";

let cluster: FakeCluster;
let client: ClusterClient;
let stop: AbortController;
beforeEach(async () => {
  cluster = await FakeCluster.start();
  client = new ClusterClient(cluster.access());
  stop = new AbortController();
});
afterEach(async () => {
  stop.abort();
  await client.close();
  await cluster.close();
});

const makeSecret = (name: string, metadata: object = {}) =>
  cluster.create("v1", "Secret", { metadata: { name, ...metadata } });

/** The events of a watch as `TYPE name`, and its end. */
async function watchSecrets(resourceVersion: string, more: Record<string, string> = {}): Promise<string[]> {
  const seen: string[] = [];
  const before = cluster.openWatches().length;
  const follow = async () => {
    for await (const { type, object } of client.watch(SECRETS, resourceVersion, stop.signal, more))
      seen.push(type === "ERROR" ? `ERROR ${object["code"]}` : `${type} ${object.metadata.name}`);
  };
  follow().then(
    () => seen.push("end"),
    () => seen.push("broken"),
  );
  await vi.waitFor(() => expect(cluster.openWatches().length + seen.length).toBeGreaterThan(before), SOON);
  return seen;
}

describe("a watch", () => {
  test("misses what happens in a gap, which a list has", async () => {
    const seen = await watchSecrets("");

    await cluster.watchGap("Secret", () => void makeSecret("missed"));
    makeSecret("seen");

    await vi.waitFor(() => expect(seen).toEqual(["ADDED seen"]), SOON);
    const { items } = await client.list(SECRETS);
    expect(items.map(({ metadata }) => metadata.name)).toEqual(["missed", "seen"]);
  });
});

test("a body in protobuf is refused, with the way out", async () => {
  const dispatcher = new Agent({ connect: { ca: cluster.access().ca } });
  onTestFinished(() => dispatcher.close());
  const headers = {
    authorization: `Bearer ${cluster.access().token}`,
    "content-type": "application/vnd.kubernetes.protobuf",
  };

  const answer = await request(`${cluster.url}${SECRETS}`, {
    ...{ method: "POST", body: "k8s\0", headers, dispatcher },
  });

  expect(answer.statusCode).toBe(415);
  expect(await answer.body.json()).toMatchObject({
    reason: "UnsupportedMediaType",
    message: expect.stringMatching(/JSON only.*use a real one/),
  });
});

describe("users", () => {
  const rules: readonly RbacRule[] = [
    {
      apiGroups: [""],
      resources: ["secrets"],
      verbs: ["get", "list"],
      namespaces: ["default"],
      resourceNames: ["a"],
    },
    { apiGroups: ["batch"], resources: ["jobs/status"], verbs: ["patch"] },
  ];

  test.each([
    [200, "/api/v1/namespaces/default/secrets/a"],
    [200, "/api/v1/namespaces/default/secrets?fieldSelector=metadata.name%3Da"],
    [403, "/api/v1/namespaces/default/secrets/b"],
    [403, "/api/v1/namespaces/default/secrets"],
    [403, "/api/v1/secrets?fieldSelector=metadata.name%3Da"],
    [403, JOB],
  ])("get %i for %s", async (status, path) => {
    makeSecret("a");
    const user = new ClusterClient(cluster.access(cluster.addUser("worker", rules)));

    const answer = await user.get(path).then(
      () => ({ status: 200 }),
      (thrown: unknown) => thrown,
    );
    await user.close();

    expect(answer).toMatchObject({ status });
  });

  test("get 403 without a right, and 401 once they are removed", async () => {
    const token = cluster.addUser("worker", rules);
    const user = new ClusterClient(cluster.access(token));

    await expect(user.patch(JOB, {})).rejects.toThrow(
      'jobs.batch "owner" is forbidden: User "worker" cannot patch resource "jobs" in API group "batch" in the namespace "default"',
    );
    cluster.removeUser(token);
    await expect(user.get(SECRETS)).rejects.toMatchObject({ status: 401 });
    await user.close();
  });
});

describe("the garbage collector", () => {
  /** A Job that owns a Secret with a finalizer. */
  function makeFamily(): KubeObject {
    const owner = cluster.create("batch/v1", "Job", {
      metadata: { name: "owner" },
      spec: { suspend: true, template: {} },
    });
    const { uid = "" } = owner.metadata;
    const reference = { apiVersion: "batch/v1", kind: "Job", name: "owner", uid, blockOwnerDeletion: true };
    return makeSecret("child", { ownerReferences: [reference], finalizers: ["test/held"] });
  }
  const owner = () => cluster.get("batch/v1", "Job", "owner");
  const child = () => cluster.get("v1", "Secret", "child");

  test("deletes dependants after their owner in the background", async () => {
    makeFamily();

    await client.delete(JOB, { propagationPolicy: "Background" });

    expect(owner()).toBeUndefined();
    await vi.waitFor(() => expect(child()?.metadata.deletionTimestamp).toBeDefined(), SOON);
  });

  test("deletes dependants before their owner in the foreground", async () => {
    makeFamily();

    await client.delete(JOB, { propagationPolicy: "Foreground" });
    await vi.waitFor(() => expect(child()?.metadata.deletionTimestamp).toBeDefined(), SOON);
    expect(owner()?.metadata.finalizers).toEqual(["foregroundDeletion"]);
    cluster.patch("v1", "Secret", "child", { metadata: { finalizers: null } });

    await vi.waitFor(() => expect(owner()).toBeUndefined(), SOON);
    expect(child()).toBeUndefined();
  });

  test("orphans dependants", async () => {
    makeFamily();

    await client.delete(JOB, { propagationPolicy: "Orphan" });

    await vi.waitFor(() => expect(owner()).toBeUndefined(), SOON);
    expect(child()?.metadata).not.toHaveProperty("ownerReferences");
    expect(child()?.metadata).not.toHaveProperty("deletionTimestamp");
  });
});
