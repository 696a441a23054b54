import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { loadConfig } from "../../../worker/config/load-config.ts";

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
    expect(configOf({ PBNJ_WAKE_UP: "on" }).kubernetes).toEqual({ inventory: [], sources: [], wakeUp: true });
  });

  it("with everything that the settings say of it", () => {
    const config = configOf({
      PBNJ_RUNTIME: "kubernetes",
      PBNJ_KUBECONFIG: "kube/config",
      PBNJ_KUBERNETES_NAMESPACE: "pbnj",
      PBNJ_WATCH_NAMESPACE: "*",
      PBNJ_KUBERNETES_INVENTORY: "hardware",
      PBNJ_RUFIO: "true",
      PBNJ_RUFIO_IMAGE: "registry.example/pbnj/{action}:{version}",
      PBNJ_RUFIO_STATUS_INTERVAL: "10m",
      PBNJ_RUFIO_LEASE_NAMESPACE: "tink-system",
      PBNJ_SHARE_LANES: "true",
      PBNJ_SHARE_GROUP: "rack-7",
    });

    expect(config.kubernetes).toEqual({
      kubeconfig: resolve("kube/config"),
      namespace: "pbnj",
      watchNamespace: "*",
      inventory: ["hardware", "machines"],
      sources: [{ name: "local", inventory: ["hardware", "machines"], watchNamespace: "*" }],
      wakeUp: true,
      rufio: {
        image: "registry.example/pbnj/{action}:{version}",
        statusIntervalMs: 600_000,
        leaseNamespace: "tink-system",
      },
      sharing: { group: "rack-7" },
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

describe("settings of the cluster that cannot be meant", () => {
  it("are all named at once", () => {
    expect(
      problemsOf({
        PBNJ_RUNTIME: "kubernetes",
        PBNJ_KUBERNETES_NAMESPACE: "Pbnj",
        PBNJ_WATCH_NAMESPACE: "a/b",
        PBNJ_KUBERNETES_INVENTORY: "machine",
        PBNJ_RUFIO_IMAGE: "registry.example/pbnj:v1",
        PBNJ_SHARE_GROUP: "a.b",
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
      expect.stringMatching(/^PBNJ_SHARE_GROUP: must be a name/),
      expect.stringMatching(/^PBNJ_KUBERNETES_SERVICE_ACCOUNT: must be the name of an object/),
      expect.stringMatching(/^PBNJ_POD_NODE_SELECTOR: must be a label/),
      expect.stringMatching(/^PBNJ_POD_TOLERATIONS: must be key/),
      expect.stringMatching(/^PBNJ_POD_LABELS: must be a label/),
      expect.stringMatching(/^PBNJ_POD_ANNOTATIONS: must be an annotation/),
    ]);
  });

  it("are lanes that are shared while their actions run where no other replica can take them over", () => {
    expect(problemsOf({ PBNJ_SHARE_LANES: "true" })).toEqual([
      expect.stringMatching(
        /^PBNJ_SHARE_LANES: needs --runtime kubernetes: another replica can only adopt actions/,
      ),
    ]);
  });

  it("are an agent ID that is Rufio's", () => {
    expect(problemsOf({ PBNJ_RUFIO: "true", PBNJ_AGENT_ID: "a,rufio" })).toEqual([
      "PBNJ_AGENT_ID: holds rufio, which is reserved for Rufio's Jobs: choose another one",
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
