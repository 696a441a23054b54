import { rm } from "node:fs/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeCluster } from "../../../simulators/kubernetes/cluster.ts";
import { checkCluster } from "../../../worker/doctor/check-cluster.ts";
import { loadConfig } from "../../../worker/main/load-config.ts";
import { type FakeClusterLab, openFakeCluster } from "../../support/fake-cluster.ts";

const { signal } = new AbortController();
const TIMEOUT_MS = 15_000;

let there: FakeClusterLab;
let fake: FakeCluster;
beforeEach(async () => {
  there = await openFakeCluster({ namespace: "tink-system" });
  fake = there.fake;
});
afterEach(() => there[Symbol.asyncDispose]());

function check(env: Readonly<Record<string, string>>, timeoutMs = TIMEOUT_MS) {
  const enough = {
    PBNJ_GRPC_SERVER: "tink",
    PBNJ_AGENT_ID: "a",
    PBNJ_KUBECONFIG: there.kubeconfig,
    PBNJ_UNSAFE_ANY_IMAGE: "true",
  };
  const loaded = loadConfig({ flags: {}, env: { ...enough, ...env } });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  return checkCluster(loaded.config, timeoutMs, signal);
}

const EVERYTHING = {
  PBNJ_RUNTIME: "kubernetes",
  PBNJ_KUBERNETES_INVENTORY: "machines,hardware",
  PBNJ_RUFIO: "true",
  PBNJ_RUFIO_ALONE: "true",
  PBNJ_LEADER_ELECTION: "true",
};

describe("the doctor at a cluster", () => {
  it("has nothing to say where no setting asks for one", async () => {
    expect(await check({})).toEqual([]);
  });

  it("says which one it is, and what it is for", async () => {
    expect(await check(EVERYTHING)).toEqual([
      {
        check: "cluster",
        state: "ok",
        subject: fake.url,
        detail: expect.stringMatching(
          /^v1\.\d+\.\d+.*, namespace tink-system, for runtime, inventory, wake-up, rufio, leader election$/,
        ),
      },
    ]);
  });

  it("shows which objects are paused, and why", async () => {
    const create = (name: string, annotations: object) =>
      fake.create("bmc.tinkerbell.org/v1alpha1", "Machine", {
        metadata: { name, namespace: "tink-system", annotations },
        spec: { connection: { host: "192.0.2.1" } },
      });
    create("r1", { "pbnj-worker/paused": "fan replacement" });
    create("r2", {});

    const found = await check({ PBNJ_KUBERNETES_INVENTORY: "machines,hardware" });

    expect(found.filter(({ state }) => state === "skipped")).toEqual([
      {
        ...{ check: "cluster", state: "skipped", subject: "Machine tink-system/r1" },
        detail: "paused: fan replacement (annotation pbnj-worker/paused of Machine tink-system/r1)",
      },
    ]);
  });

  it("says why the worker does not start beside a Rufio that takes no Lease, and what to do", async () => {
    const problems = async (env: Readonly<Record<string, string>>) =>
      (await check({ PBNJ_RUFIO: "true", ...env })).filter(({ state }) => state !== "ok");

    expect(await problems({})).toEqual([
      expect.objectContaining({
        ...{ check: "cluster", state: "problem", cause: "rufio-lease-missing" },
        detail: expect.stringMatching(/^there is no Lease e74dec1a.bmc.tinkerbell.org in tink-system: /),
        remedy: expect.stringMatching(/--rufio-controller-enable-leader-election=true/),
      }),
    ]);
    expect(await problems({ PBNJ_RUFIO_ALONE: "true" })).toEqual([]);
    const metadata = { name: "e74dec1a.bmc.tinkerbell.org", namespace: "tink-system" };
    fake.create("coordination.k8s.io/v1", "Lease", { metadata, spec: { holderIdentity: "rufio" } });
    expect(await problems({})).toEqual([]);
  });

  it("names the kinds of Rufio's chosen version that the cluster does not serve", async () => {
    const rufio = { PBNJ_RUFIO: "true", PBNJ_RUFIO_ALONE: "true" };
    const problems = async (env: Readonly<Record<string, string>>) =>
      (await check({ ...rufio, ...env })).filter(({ state }) => state !== "ok");

    expect(await problems({})).toEqual([]);
    expect(await problems({ PBNJ_RUFIO_API: "v1alpha2" })).toEqual([
      {
        ...{ check: "cluster", state: "problem", cause: "rufio-kind-missing", class: "usage" },
        detail:
          "the cluster does not serve jobs.bmc.tinkerbell.org/v1alpha2, hardware.tinkerbell.org/v1alpha2",
        remedy: expect.stringMatching(/^install the CRDs of Tinkerbell's v1alpha2, or set rufioApi /),
      },
    ]);
    fake.removeCrds("v1alpha1");
    fake.addCrds("v1alpha2");
    expect(await problems({ PBNJ_RUFIO_API: "v1alpha2" })).toEqual([]);
    expect(await problems({})).toMatchObject([
      {
        detail: expect.stringMatching(/ jobs.*\/v1alpha1, tasks.*\/v1alpha1, machines.*\/v1alpha1$/),
      },
    ]);
  });

  describe("at finished workflows", () => {
    function finish(workflows: number, agentID: string, state = "SUCCESS"): void {
      const kind = ["tinkerbell.org/v1alpha1", "Workflow"] as const;
      const tasks = [{ id: "1", name: "bmc", agentID, actions: [] }];
      for (let index = 0; index < workflows; index += 1) {
        const name = `${agentID}-${state.toLowerCase()}-${index}`;
        fake.create(...kind, { metadata: { namespace: "tink-system", name }, spec: { templateRef: "t" } });
        fake.patchStatus(...kind, name, { state, agentID, tasks }, "tink-system");
      }
    }
    const warnings = async (env: Readonly<Record<string, string>> = {}) =>
      (await check({ PBNJ_WAKE_UP: "on", ...env })).filter(({ state }) => state !== "ok");

    it("warns with the number of each of the worker's agent IDs, most first, and how to fix it", async () => {
      finish(4, "a", "FAILED");
      finish(2, "a");
      finish(9, "pbnj-node-1");
      finish(4, "pbnj-node-2");
      finish(20, "pbnj-node-2", "PENDING");
      finish(20, "52-54-00-12-34-56");

      expect(await warnings()).toEqual([
        {
          check: "cluster",
          state: "warning",
          cause: "workflows-finished",
          detail: "2 agent IDs have 5 finished Workflows or more: pbnj-node-1 (9), a (6)",
          remedy: expect.stringMatching(/^delete finished Workflows \(a new one now waits 9 s .* regularly/),
        },
      ]);
    });

    it("finds nothing where there are few, no kind, or no right to list them", async () => {
      finish(4, "a");
      expect(await warnings()).toEqual([]);

      finish(4, "a", "FAILED");
      fake.removeCrds("v1alpha1");
      expect((await warnings()).filter(({ cause }) => cause === "workflows-finished")).toEqual([]);
      fake.addCrds("v1alpha1");
      await there.allow([]);
      expect((await warnings()).map(({ cause }) => cause)).toEqual(["cluster-right"]);
    });
  });

  describe("at workflows that name an agent ID in another case", () => {
    function submit(name: string, state: string, agentID: string): void {
      const kind = ["tinkerbell.org/v1alpha1", "Workflow"] as const;
      fake.create(...kind, { metadata: { namespace: "tink-system", name }, spec: { templateRef: "t" } });
      const tasks = [{ id: "1", name: "bmc", agentID, actions: [] }];
      fake.patchStatus(...kind, name, { state, agentID, tasks }, "tink-system");
    }
    const cases = async (env: Readonly<Record<string, string>> = {}) =>
      (await check({ PBNJ_WAKE_UP: "on", ...env })).filter(({ cause }) => cause === "agent-id-case");

    it("warns of those that are one of the worker's, with what it has", async () => {
      submit("wrong", "PENDING", "A");
      submit("ended", "FAILED", "A");
      submit("right", "PENDING", "a");
      submit("another", "PENDING", "B");

      expect(await cases()).toEqual([
        {
          check: "cluster",
          state: "warning",
          cause: "agent-id-case",
          detail: "1 agent ID of Workflows in another case: A, not a",
          remedy: expect.stringContaining("as the worker has it: a"),
        },
      ]);
    });

    it("warns of those that may be a machine's in the cluster", async () => {
      submit("wrong", "PENDING", "pbnj-Node-01");
      submit("another", "PENDING", "Rack-01");

      expect(await cases()).toEqual([]);
      const found = await cases({ PBNJ_KUBERNETES_INVENTORY: "machines" });
      expect(found.map(({ detail }) => detail)).toEqual([
        "1 agent ID of Workflows in another case: pbnj-Node-01, not pbnj-node-01",
      ]);
    });
  });

  it("names every right that is missing, by the part that needs it", async () => {
    await there.allow([
      { apiGroups: ["batch"], resources: ["jobs"], verbs: ["*"], namespaces: ["tink-system"] },
      { apiGroups: [""], resources: ["pods"], verbs: ["list", "delete"], namespaces: "*" },
    ]);

    const found = await check({ ...EVERYTHING, PBNJ_WATCH_NAMESPACE: "*" });

    const problems = found.filter(({ state }) => state === "problem");
    expect(problems.map(({ cause, subject }) => `${cause} ${subject}`)).toEqual([
      "cluster-right runtime",
      "cluster-right inventory",
      "cluster-right wake-up",
      "cluster-right rufio",
      "cluster-right leader election",
    ]);
    expect(problems[0]?.detail).toBe("watch pods in tink-system");
    expect(problems[2]).toMatchObject({
      detail:
        "list workflows.tinkerbell.org in all namespaces, watch workflows.tinkerbell.org in all namespaces",
      remedy: expect.stringContaining("Role"),
    });
    expect(problems[4]?.detail).toContain("create leases.coordination.k8s.io in tink-system");
    const warnings = found.filter(({ state }) => state === "warning").map(({ detail }) => detail);
    expect(warnings).toContain(
      "get pods/log in tink-system: without it, action logs stay in the cluster, and results of more than 4 KiB are truncated",
    );
  });

  describe("at the other clusters that machines are read from", () => {
    const sourcesOf = (...entries: readonly object[]) => ({
      PBNJ_KUBERNETES_SOURCES: JSON.stringify(entries),
    });
    const identityRef = { name: "edge-kubeconfig" };
    const startEdge = async () => there.own(await FakeCluster.start());
    const writeIdentity = (kubeconfigText: string) => {
      const data = { kubeconfig: Buffer.from(kubeconfigText).toString("base64") };
      fake.create("v1", "Secret", { metadata: { name: "edge-kubeconfig", namespace: "tink-system" }, data });
    };

    it("says which they are, and which rights their kubeconfigs lack", async () => {
      const edge = await startEdge();
      const token = edge.addUser("reader", [
        { apiGroups: ["bmc.tinkerbell.org"], resources: ["machines"], verbs: ["list", "watch"] },
      ]);
      writeIdentity(edge.kubeconfig({ token, namespace: "bmcs" }));

      const found = await check(sourcesOf({ name: "edge", identityRef }));

      expect(found.slice(1)).toEqual([
        {
          ...{ check: "cluster", state: "ok", subject: "source edge" },
          detail: expect.stringMatching(/^v1\..*, namespace bmcs, at https:/),
        },
        expect.objectContaining({
          ...{ cause: "cluster-right", subject: "source edge", detail: "get secrets in bmcs" },
        }),
      ]);
    });

    it("does not let one that cannot be used hide the others, and needs no cluster of its own for files", async () => {
      const file = { name: "file", kubeconfig: there.path("gone") };
      expect(await check(sourcesOf(file))).toMatchObject([
        { cause: "machine-source", subject: "source file" },
      ]);

      const edge = await startEdge();
      const good = { name: "good", kubeconfig: await there.write("edge", edge.kubeconfig()) };
      writeIdentity(edge.kubeconfig().replace("token:", "tokenFile:"));
      const found = await check(sourcesOf({ name: "edge", identityRef }, good));
      expect(found.map(({ state, subject }) => `${state} ${subject}`)).toEqual([
        `ok ${fake.url}`,
        "problem source edge",
        "ok source good",
      ]);
      expect(found[1]?.detail).toBe("kubeconfig user.tokenFile names a file: use token");
    });

    it("asks for the right to see the Secrets with their kubeconfigs", async () => {
      await there.allow([]);

      const found = await check({ ...sourcesOf({ name: "edge", identityRef }), PBNJ_WAKE_UP: "off" });

      expect(found.find(({ cause }) => cause === "cluster-right")).toMatchObject({
        subject: "machine sources",
        detail: "list secrets edge-kubeconfig in tink-system, watch secrets edge-kubeconfig in tink-system",
      });
    });
  });

  it("does not ask for Secrets where a kubelet mounts them", async () => {
    const rules = ["jobs", "pods", "pods/log", "events", "machines", "workflows"].map((resource) => ({
      ...{ apiGroups: ["*"], resources: [resource], verbs: ["*"], namespaces: ["tink-system"] },
    }));
    await there.allow(rules);

    const found = await check({ PBNJ_RUNTIME: "kubernetes", PBNJ_KUBERNETES_INVENTORY: "machines" });

    expect(found.map(({ state }) => state)).toEqual(["ok"]);
  });

  it.each([
    ["a kubeconfig that is not there", () => rm(there.kubeconfig), "kubeconfig-wrong"],
    [
      "a token that is none",
      () => there.write("kubeconfig", fake.kubeconfig({ token: "x" })),
      "cluster-login",
    ],
    ["a server that is away", () => fake.stop(), "cluster-unreachable"],
  ] as const)("has its own cause: %s", async (_, breakIt, cause) => {
    await breakIt();

    const found = await check(EVERYTHING);

    expect(found).toMatchObject([{ state: "problem", cause, remedy: expect.any(String) }]);
  });
});
