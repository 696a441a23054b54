import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { loadConfig } from "../../../worker/main/load-config.ts";

const BASE = { PBNJ_GRPC_SERVER: "tink", PBNJ_AGENT_ID: "pbnj", PBNJ_UNSAFE_ANY_IMAGE: "true" };

function load(env: Readonly<Record<string, string>>) {
  return loadConfig({ flags: {}, env: { ...BASE, ...env } });
}

function configOf(env: Readonly<Record<string, string>>) {
  const loaded = load(env);
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  return loaded.config;
}

function problemsOf(env: Readonly<Record<string, string>>): readonly string[] {
  const loaded = load(env);
  return loaded.ok ? [] : loaded.problems.map(({ source, message }) => `${source}: ${message}`);
}

describe("a worker without settings of a cluster", () => {
  it.each([{}, { PBNJ_KUBECONFIG: "/k" }, { PBNJ_WAKE_UP: "auto" }, { PBNJ_WAKE_UP: "off" }])(
    "connects to none with %j",
    (env) => {
      expect(configOf(env).kubernetes).toBeUndefined();
    },
  );
});

describe("a cluster is used", () => {
  it("for waking up alone, when that is asked for", () => {
    const config = configOf({ PBNJ_WAKE_UP: "on" });

    expect(config.kubernetes).toEqual({});
    expect(config).toMatchObject({ machineSources: [], wakeUp: true });
  });

  it("with everything that the settings say of it", () => {
    const config = configOf({
      PBNJ_RUNTIME: "kubernetes",
      PBNJ_KUBECONFIG: "kube/config",
      PBNJ_KUBERNETES_NAMESPACE: "pbnj",
      PBNJ_WATCH_NAMESPACE: "*",
      PBNJ_KUBERNETES_INVENTORY: "hardware",
      PBNJ_METAL3_MANAGED: "via-host",
      PBNJ_RUFIO: "true",
      PBNJ_RUFIO_IMAGE: "registry.example/pbnj/{action}:{version}",
      PBNJ_RUFIO_STATUS_INTERVAL: "10m",
      PBNJ_RUFIO_LEASE_NAMESPACE: "tink-system",
      PBNJ_RUFIO_HARDWARE: "false",
      PBNJ_RUFIO_ALONE: "true",
      PBNJ_LEADER_ELECTION: "true",
      PBNJ_LEADER_ELECTION_LEASE: "rack-7",
    });

    expect(config.kubernetes).toEqual({
      kubeconfig: resolve("kube/config"),
      namespace: "pbnj",
      watchNamespace: "*",
    });
    expect(config).toMatchObject({
      machineSources: [{ name: "local", inventory: ["hardware", "machines"], watchNamespace: "*" }],
      wakeUp: true,
      managedHosts: "via-host",
      rufio: {
        api: "v1alpha1",
        image: "registry.example/pbnj/{action}:{version}",
        statusIntervalMs: 600_000,
        hardware: false,
        alone: true,
        leaseNamespace: "tink-system",
      },
      leaderElection: { group: "rack-7", lease: "rack-7" },
    });
  });

  it("to run actions, in pods that look as they are to", () => {
    const config = configOf({
      PBNJ_RUNTIME: "kubernetes",
      AGENT_KUBERNETES_SERVICE_ACCOUNT: "actions",
      PBNJ_POD_START_TIMEOUT: "90s",
      PBNJ_POD_NODE_SELECTOR: "kubernetes.io/arch=amd64,role=bmc",
      PBNJ_POD_TOLERATIONS: "bmc, dedicated=bmc:NoSchedule, gone:NoExecute",
      PBNJ_POD_PULL_SECRETS: "registry",
      PBNJ_POD_LABELS: "team=dc,sidecar.istio.io/inject=false",
      PBNJ_POD_ANNOTATIONS: "note=a b=c",
      PBNJ_MEMORY_LIMIT: "128Mi",
      PBNJ_CPU_LIMIT: "0.5",
      PBNJ_PULL_POLICY: "always",
    });

    expect(config.runtime).toEqual({
      kind: "kubernetes",
      pullPolicy: "always",
      user: "65532:65532",
      memoryBytes: 128 * 1024 * 1024,
      cpus: 0.5,
      startTimeoutMs: 90_000,
      serviceAccount: "actions",
      nodeSelector: [
        { name: "kubernetes.io/arch", value: "amd64" },
        { name: "role", value: "bmc" },
      ],
      tolerations: [
        { key: "bmc", operator: "Exists" },
        { key: "dedicated", operator: "Equal", value: "bmc", effect: "NoSchedule" },
        { key: "gone", operator: "Exists", effect: "NoExecute" },
      ],
      pullSecrets: ["registry"],
      labels: [
        { name: "team", value: "dc" },
        { name: "sidecar.istio.io/inject", value: "false" },
      ],
      annotations: [{ name: "note", value: "a b=c" }],
    });
    expect(config.maxActions).toBe(500);
  });
});

describe("clusters that machines are read from", () => {
  const EDGE = { name: "edge", kubeconfig: "edge.yaml" };
  const sources = (...entries: readonly object[]) => ({ PBNJ_KUBERNETES_SOURCES: JSON.stringify(entries) });

  it("are the worker's own and those of a list, each with its own objects and namespaces", () => {
    const identityRef = { name: "lab-kubeconfig", contextName: "admin" };
    const lab = {
      name: "lab",
      identityRef,
      inventory: "machines, hardware",
      watchNamespace: "*",
      prefix: "lab-",
    };
    const env = { ...sources({ ...lab, workflowNamespaces: "same" }), PBNJ_KUBERNETES_INVENTORY: "machines" };

    expect(configOf({ ...env, PBNJ_WATCH_NAMESPACE: "bmcs" })).toMatchObject({
      wakeUp: true,
      machineSources: [
        { name: "local", inventory: ["machines"], watchNamespace: "bmcs" },
        {
          ...{ name: "lab", inventory: ["machines", "hardware"], watchNamespace: "*", prefix: "lab-" },
          workflowNamespaces: "same",
          access: { kind: "identity", secret: "lab-kubeconfig", contextName: "admin" },
        },
      ],
    });
  });

  it("need nothing of the worker's own cluster if all have a kubeconfig file, which is relative to the settings", () => {
    const folder = mkdtempSync(join(tmpdir(), "pbnj-settings-"));
    const file = join(folder, "worker.yaml");
    writeFileSync(file, "kubernetesSources:\n  - name: edge\n    kubeconfig: edge.yaml\n");
    const config = configOf({ PBNJ_CONFIG: file });
    rmSync(folder, { recursive: true });

    expect(config).toMatchObject({
      kubernetes: {},
      wakeUp: false,
      machineSources: [{ name: "edge", access: { kind: "file", path: join(folder, "edge.yaml") } }],
    });
  });

  it("may be the worker's own with a prefix", () => {
    expect(configOf(sources({ name: "own", prefix: "own-" }))).toMatchObject({
      machineSources: [{ name: "own", prefix: "own-", inventory: ["machines"] }],
    });
  });

  it.each<[object | string, string]>([
    ["edge", " must be a list, not text"],
    [[EDGE, EDGE], ".1.name is used twice"],
    [[{ ...EDGE, identityRef: { name: "a" } }], ".0.kubeconfig conflicts with identityRef"],
    [[{ name: "a", contextName: "b" }], ".0.contextName needs kubeconfig"],
    [[{ ...EDGE, name: "local" }], ".0.name must not be local, which is the worker's own cluster"],
    [[{ name: "a", watchNamespace: "b" }], ".0.watchNamespace is for other clusters"],
    [[{ name: "a" }, { name: "b" }], " must have at most one entry without identityRef and kubeconfig"],
    [[{ ...EDGE, prefix: "Edge_" }], ".0.prefix must be the beginning of a machine's name"],
    [[{ ...EDGE, namespace: "x" }], ".0.namespace is not known"],
    [[{ ...EDGE, identityRef: undefined, inventory: [] }], ".0.inventory must not be empty"],
  ])("are refused as %j", (given, problem) => {
    const text = typeof given === "string" ? given : JSON.stringify(given);
    expect(problemsOf({ PBNJ_KUBERNETES_SOURCES: text })).toEqual([
      expect.stringContaining(`${problem.startsWith(".") ? "PBNJ_KUBERNETES_SOURCES" : ":"}${problem}`),
    ]);
  });

  it("must not be taken for the worker's own", () => {
    const own = { ...sources({ name: "own" }), PBNJ_KUBERNETES_INVENTORY: "machines" };
    expect(problemsOf(own)).toEqual([expect.stringContaining("has an entry for the worker's own cluster")]);
    expect(problemsOf({ ...sources(EDGE), PBNJ_RUFIO: "true" })).toEqual([
      expect.stringContaining("needs a prefix in each entry"),
    ]);
  });
});

describe("settings of the cluster that cannot be meant", () => {
  it("are all named at once", () => {
    expect(
      problemsOf({
        PBNJ_RUNTIME: "kubernetes",
        PBNJ_KUBERNETES_NAMESPACE: "Pbnj",
        PBNJ_WATCH_NAMESPACE: "a/b",
        PBNJ_KUBERNETES_INVENTORY: "machine",
        PBNJ_RUFIO_IMAGE: "registry.example/pbnj:v1",
        PBNJ_LEADER_ELECTION_LEASE: "a.b",
        PBNJ_KUBERNETES_SERVICE_ACCOUNT: "a b",
        PBNJ_POD_NODE_SELECTOR: "arch",
        PBNJ_POD_TOLERATIONS: "a:Sometimes",
        PBNJ_POD_LABELS: "a=b c",
        PBNJ_POD_ANNOTATIONS: "=x",
      }),
    ).toEqual([
      expect.stringMatching(/^PBNJ_KUBERNETES_NAMESPACE: must be a namespace/),
      expect.stringMatching(/^PBNJ_WATCH_NAMESPACE: /),
      expect.stringMatching(/^PBNJ_KUBERNETES_INVENTORY: .*did you mean machines/),
      expect.stringMatching(/^PBNJ_RUFIO_IMAGE: must be an image with \{action\}/),
      expect.stringMatching(/^PBNJ_LEADER_ELECTION_LEASE: must be a name/),
      expect.stringMatching(/^PBNJ_KUBERNETES_SERVICE_ACCOUNT: must be the name of an object/),
      expect.stringMatching(/^PBNJ_POD_NODE_SELECTOR: must be a label/),
      expect.stringMatching(/^PBNJ_POD_TOLERATIONS: must be key/),
      expect.stringMatching(/^PBNJ_POD_LABELS: must be a label/),
      expect.stringMatching(/^PBNJ_POD_ANNOTATIONS: must be an annotation/),
    ]);
  });

  it("are a leader whose actions run where the next one cannot adopt them", () => {
    expect(problemsOf({ PBNJ_LEADER_ELECTION: "true" })).toEqual([
      expect.stringMatching(
        /^PBNJ_LEADER_ELECTION: needs --runtime kubernetes: the next leader can only adopt actions/,
      ),
    ]);
  });

  it("are Machines beside Jobs of v1alpha2, which name Hardware", () => {
    const env = { PBNJ_RUFIO: "true", PBNJ_RUFIO_API: "v1alpha2" };

    expect(problemsOf({ ...env, PBNJ_KUBERNETES_INVENTORY: "machines" })).toEqual([
      expect.stringMatching(/^PBNJ_KUBERNETES_INVENTORY: selects machines, .*PBNJ_RUFIO_API v1alpha2/),
    ]);
    expect(configOf(env)).toMatchObject({
      machineSources: [{ inventory: ["hardware"] }],
      rufio: { api: "v1alpha2", hardware: false },
    });
  });

  it("are an agent ID that is Rufio's", () => {
    expect(problemsOf({ PBNJ_RUFIO: "true", PBNJ_AGENT_ID: "a,rufio" })).toEqual([
      "PBNJ_AGENT_ID: holds rufio, which is reserved for Rufio's Jobs: choose another one",
    ]);
  });
});

describe("a tink server", () => {
  it("need not be named for Rufio's work alone", () => {
    expect(problemsOf({ PBNJ_RUFIO: "true", PBNJ_GRPC_SERVER: "", PBNJ_AGENT_ID: "" })).toEqual([]);
    expect(problemsOf({ PBNJ_KUBERNETES_INVENTORY: "machines", PBNJ_GRPC_SERVER: "" })).toEqual([
      expect.stringMatching(/is missing: the tink server's address/),
    ]);
  });
});

describe("agent IDs", () => {
  it.each([{ PBNJ_KUBERNETES_INVENTORY: "machines" }, { PBNJ_RUFIO: "true" }])(
    "need not be named where the cluster has the work: %j",
    (env) => {
      expect(problemsOf({ ...env, PBNJ_AGENT_ID: "" })).toEqual([]);
    },
  );
});
