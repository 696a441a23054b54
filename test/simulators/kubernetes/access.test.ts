import { ApisApi, AuthorizationV1Api, CoreV1Api, KubeConfig, VersionApi } from "@kubernetes/client-node";
import { Agent, request } from "undici";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { FakeCluster, type RbacRule } from "./cluster.ts";
import { ClusterClient } from "./node/cluster-client.ts";

const SOON = { timeout: 15_000, interval: 10 };

let cluster: FakeCluster;
let agent: Agent;
beforeEach(async () => {
  cluster = await FakeCluster.start({ controllers: false });
  agent = new Agent({ connect: { ca: cluster.ca } });
});
afterEach(async () => {
  await agent.close();
  await cluster.close();
});

async function get(path: string, token?: string): Promise<{ status: number; type: string; text: string }> {
  const headers = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  const answer = await request(`${cluster.url}${path}`, { dispatcher: agent, headers });
  return {
    status: answer.statusCode,
    type: String(answer.headers["content-type"]),
    text: await answer.body.text(),
  };
}

function asUser(rules: readonly RbacRule[]): KubeConfig {
  const config = new KubeConfig();
  config.loadFromString(
    cluster.kubeconfig({ token: cluster.addUser("system:serviceaccount:tink-system:worker", rules) }),
  );
  return config;
}

const rule = (more: Partial<RbacRule>): RbacRule => ({
  apiGroups: [""],
  resources: ["secrets"],
  verbs: ["get"],
  ...more,
});

test.each([
  ["no token", undefined],
  ["a token of nobody", "nobody"],
])("%s is unauthorised", async (_, token) => {
  const answer = await get("/api/v1/secrets", token);

  expect(answer.status).toBe(401);
  expect(JSON.parse(answer.text)).toMatchObject({
    kind: "Status",
    message: "Unauthorized",
    reason: "Unauthorized",
  });
});

test("a token that was taken away is unauthorised", async () => {
  const token = cluster.addUser("someone", [rule({ verbs: ["list"] })]);
  const before = await get("/api/v1/secrets", token);

  cluster.removeUser(token);

  expect(before.status).toBe(200);
  expect((await get("/api/v1/secrets", token)).status).toBe(401);
});

test.each<[string, readonly RbacRule[], (core: CoreV1Api) => Promise<unknown>, string]>([
  [
    "a list that no rule has",
    [rule({})],
    (core) => core.listNamespacedSecret({ namespace: "x" }),
    'secrets is forbidden: User "system:serviceaccount:tink-system:worker" cannot list resource "secrets" in API group "" in the namespace "x"',
  ],
  [
    "a name that is not among the rule's",
    [rule({ resourceNames: ["one"] })],
    (core) => core.readNamespacedSecret({ namespace: "default", name: "two" }),
    'secrets "two" is forbidden: User "system:serviceaccount:tink-system:worker" cannot get resource "secrets" in API group "" in the namespace "default"',
  ],
  [
    "all namespaces with rules in one",
    [rule({ verbs: ["list"], namespaces: ["default"] })],
    (core) => core.listSecretForAllNamespaces(),
    'secrets is forbidden: User "system:serviceaccount:tink-system:worker" cannot list resource "secrets" in API group "" at the cluster scope',
  ],
  [
    "a log with rules for pods alone",
    [rule({ resources: ["pods"] })],
    (core) => core.readNamespacedPodLog({ namespace: "default", name: "p" }),
    'pods "p" is forbidden: User "system:serviceaccount:tink-system:worker" cannot get resource "pods/log" in API group "" in the namespace "default"',
  ],
])("%s is forbidden in the real words", async (_, rules, ask, message) => {
  const asked = ask(asUser(rules).makeApiClient(CoreV1Api));

  await expect(asked).rejects.toMatchObject({ code: 403 });
  await expect(asked).rejects.toThrow(JSON.stringify(message).slice(1, -1).replaceAll("\\", "\\\\\\"));
});

test("what a rule has is allowed, by its names, its namespaces and its subresources", async () => {
  cluster.create("v1", "Secret", { metadata: { name: "one" } });
  const core = asUser([
    rule({ resourceNames: ["one"], verbs: ["get", "list"], namespaces: ["default"] }),
  ]).makeApiClient(CoreV1Api);

  const read = await core.readNamespacedSecret({ namespace: "default", name: "one" });
  const listed = await core.listNamespacedSecret({
    namespace: "default",
    fieldSelector: "metadata.name=one",
  });

  expect(read.metadata?.name).toBe("one");
  expect(listed.items).toHaveLength(1);
});

test("a review of oneself answers by the same rules", async () => {
  const rules = [
    rule({
      apiGroups: ["batch"],
      resources: ["jobs", "jobs/status"],
      verbs: ["create"],
      namespaces: ["tink-system"],
    }),
  ];
  const api = asUser(rules).makeApiClient(AuthorizationV1Api);
  const may = async (attributes: object) => {
    const body = {
      spec: {
        resourceAttributes: {
          verb: "create",
          group: "batch",
          resource: "jobs",
          namespace: "tink-system",
          ...attributes,
        },
      },
    };
    return (await api.createSelfSubjectAccessReview({ body })).status?.allowed;
  };

  expect(await may({})).toBe(true);
  expect(await may({ subresource: "status" })).toBe(true);
  expect(await may({ namespace: "default" })).toBe(false);
  expect(await may({ verb: "delete" })).toBe(false);
  const reviewed = await api.createSelfSubjectRulesReview({ body: { spec: { namespace: "tink-system" } } });
  expect(reviewed.status?.resourceRules).toEqual([
    { apiGroups: ["batch"], resources: ["jobs", "jobs/status"], verbs: ["create"] },
  ]);
});

test("every request is kept with what it was about, but not the control plane's", async () => {
  const config = new KubeConfig();
  config.loadFromString(cluster.kubeconfig());
  const core = config.makeApiClient(CoreV1Api);
  const controlPlane = new ClusterClient(cluster.controlPlane);

  await core.createNamespacedSecret({ namespace: "default", body: { metadata: { name: "a" } } });
  await core.listNamespacedSecret({ namespace: "default" });
  await controlPlane.list("/api/v1/secrets");
  await controlPlane.close();

  expect(cluster.requests).toMatchObject([
    {
      verb: "create",
      resource: "secrets",
      namespace: "default",
      user: "kubernetes-admin",
      body: expect.stringContaining('"a"'),
    },
    { verb: "list", resource: "secrets", namespace: "default" },
  ]);
  expect([
    cluster.countBy(),
    cluster.countBy("list"),
    cluster.countBy("create", "secrets"),
    cluster.countBy("get"),
  ]).toEqual([2, 1, 1, 0]);
  cluster.forgetRequests();
  expect(cluster.countBy()).toBe(0);
});

test("discovery tells the kinds, and the version", async () => {
  const config = new KubeConfig();
  config.loadFromString(cluster.kubeconfig());

  const groups = await config.makeApiClient(ApisApi).getAPIVersions();
  const version = await config.makeApiClient(VersionApi).getCode();
  const batch = JSON.parse((await get("/apis/batch/v1", cluster.token)).text);
  const ready = await get("/readyz");

  expect(groups.groups.map(({ name }) => name)).toEqual([
    "batch",
    "coordination.k8s.io",
    "authorization.k8s.io",
    "bmc.tinkerbell.org",
    "tinkerbell.org",
  ]);
  expect([version.major, version.minor]).toEqual(["1", "36"]);
  expect(batch.resources.map(({ name }: { name: string }) => name)).toEqual(["jobs", "jobs/status"]);
  expect(ready).toMatchObject({ status: 200, text: "ok" });
});

test("kinds that nobody defined are a plain 404, and come and go while it runs", async () => {
  const path = "/apis/tinkerbell.org/v1alpha2/workflows";
  const before = await get(path, cluster.token);

  cluster.addCrds("v1alpha2");
  cluster.create("tinkerbell.org/v1alpha2", "Workflow", { metadata: { name: "w" }, spec: {} });
  const there = await get(path, cluster.token);
  const watching = get(`${path}?watch=true`, cluster.token).then(
    () => "ended",
    () => "broken",
  );
  await vi.waitFor(() => expect(cluster.openWatches("workflows")).toHaveLength(1), SOON);
  cluster.removeCrds("v1alpha2");

  expect(before).toEqual({ status: 404, type: "text/plain; charset=utf-8", text: "404 page not found\n" });
  expect(JSON.parse(there.text).items).toHaveLength(1);
  expect(await watching).toBe("broken");
  expect((await get(path, cluster.token)).status).toBe(404);
  expect((await get("/apis/tinkerbell.org/v1alpha1/workflows", cluster.token)).status).toBe(200);
});

test("a cluster may have no Tinkerbell at all, and speak plain HTTP", async () => {
  const plain = await FakeCluster.start({ tls: false, crds: [], controllers: false });
  const client = new ClusterClient(plain.access());

  const missing = client.list("/apis/tinkerbell.org/v1alpha1/hardware");

  await expect(missing).rejects.toMatchObject({ status: 404, message: "404 page not found" });
  expect(plain.url).toMatch(/^http:/);
  await client.close();
  await plain.close();
});
