import { createReadStream } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { stringify } from "yaml";
import { createCertificate } from "../../simulators/certificate.ts";
import type { KubeObject } from "../../simulators/kubernetes/api/object.ts";
import { ClusterClient } from "../../simulators/kubernetes/node/cluster-client.ts";
import { freePort } from "../../test/interop/free-port.ts";
import { BackgroundProgram } from "../../test/interop/kubernetes/background-program.ts";
import { startControlPlane } from "../../test/interop/kubernetes/control-plane.ts";
import { findProgram } from "../../test/interop/programs.ts";
import { kubeconfigOf } from "../../test/support/kubeconfig.ts";
import { LABEL } from "../../worker/runtimes/kubernetes/job-labels.ts";

/** A real control plane with nodes of kwok, which simulates their pods. */
export interface KwokCluster extends AsyncDisposable {
  /** For the worker that is to use it. */
  readonly workerArgv: readonly string[];
  /** The workers' requests so far. */
  requests(): Promise<readonly ApiRequest[]>;
  leases(): Promise<readonly KubeObject[]>;
}

interface ApiRequest {
  /** Such as `create jobs`. */
  readonly name: string;
  /** The name of its object; empty for several. */
  readonly object: string;
  readonly atMs: number;
  readonly status: number;
}

const NAMESPACE = "bench";
const NODES = 20;
const LEASES = `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases`;
const PODS = `/api/v1/namespaces/${NAMESPACE}/pods`;
const RETRY_MS = 500;
const CONTAINER =
  "{{ range .spec.containers }}\n- {name: {{ .name | Quote }}, image: {{ .image | Quote }}, restartCount: 0, ";

/** `podMs` is how long each pod runs. Throws with the names of the programs that are not installed. */
export async function startKwokCluster(podMs: number): Promise<KwokCluster> {
  const [etcd, apiServer, controllerManager, kwok] = programs(
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kwok",
  );
  await using parts = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "pbnj-worker-bench-cluster-"));
  parts.defer(() => rm(folder, { recursive: true, force: true }));
  const file = async (name: string, content: string) => {
    await writeFile(join(folder, name), content, { mode: 0o600 });
    return join(folder, name);
  };
  const auditLog = join(folder, "audit.log");
  const rules = [{ level: "Metadata", omitStages: ["RequestReceived"] }];
  const policy = { apiVersion: "audit.k8s.io/v1", kind: "Policy", rules };
  const policyFile = await file("audit.yaml", stringify(policy));
  const control = await startControlPlane(
    { etcd, apiServer, controllerManager },
    {
      apiServer: [
        ...["--audit-log-path", auditLog, "--audit-policy-file", policyFile],
        // Otherwise another one begins after 100 MB.
        ...["--audit-log-maxsize", "100000"],
      ],
      // With its own limit of 20 requests a second, the Job controller is all that is measured.
      controllerManager: ["--kube-api-qps", "1000", "--kube-api-burst", "1000"],
    },
  );
  parts.use(control);
  const kubeconfig = await file("kubeconfig", kubeconfigOf(control.access));
  const client = new ClusterClient(control.access);
  parts.defer(() => client.close());
  await client.create("/api/v1/namespaces", { metadata: { name: NAMESPACE } });
  const nodes = Array.from({ length: NODES }, (_, index) => `node-${index}`);
  for (const name of nodes) await client.create("/api/v1/nodes", { metadata: { name } });
  const port = await freePort();
  const { cert, key } = createCertificate({ commonName: "kubelet", altNames: ["127.0.0.1"] });
  const documents = [...stagesFor(podMs, port), logsFrom(await file("log", "simulated\n"))];
  const config = await file("kwok.yaml", documents.map((each) => stringify(each)).join("---\n"));
  const argv = [
    ...["--kubeconfig", kubeconfig, "--config", config, "--manage-all-nodes=true"],
    ...["--server-address", `127.0.0.1:${port}`],
    ...["--tls-cert-file", await file("kwok.crt", cert)],
    ...["--tls-private-key-file", await file("kwok.key", key)],
  ];
  parts.use(new BackgroundProgram(kwok, argv, join(folder, "kwok.log")));
  const stop = new AbortController();
  const scheduling = schedule(client, nodes, stop.signal);
  parts.defer(async () => {
    stop.abort();
    await scheduling;
  });

  const started = parts.move();
  return {
    workerArgv: [
      ...["--kubeconfig", kubeconfig, "--kubernetes-namespace", NAMESPACE],
      ...["--wake-up", "off", "--unsafe-any-image"],
    ],
    requests: () => requestsIn(auditLog),
    leases: async () => (await client.list(LEASES)).items,
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

function programs<const Names extends readonly string[]>(...names: Names): { [Name in keyof Names]: string } {
  const missing = names.filter((name) => !findProgram(name));
  if (missing.length > 0) throw new Error(`not installed: ${missing.join(", ")}`);
  return names.map((name) => findProgram(name) ?? "") as { [Name in keyof Names]: string };
}

/** What kwok does, in place of its own stages: nodes are ready, pods run and end with an action's result. */
function stagesFor(podMs: number, logPort: number): readonly object[] {
  const isThere = { key: ".metadata.deletionTimestamp", operator: "DoesNotExist" };
  const inPhase = (phase: string) => ({ key: ".status.phase", operator: "In", values: [phase] });
  const result = `{"action":"{{ $action }}","ok":true,"message":"simulated","durationMs":${podMs},"roundTrips":0}`;
  const addresses = [{ type: "InternalIP", address: "127.0.0.1" }];
  const daemonEndpoints = { kubeletEndpoint: { Port: logPort } };
  const node = stringify({ phase: "Running", addresses, daemonEndpoints });
  const [running, ended] = [
    `${CONTAINER}ready: true, state: {running: {startedAt: {{ $now | Quote }}}}}`,
    `${CONTAINER}ready: false, state: {terminated: {exitCode: 0, reason: Completed, startedAt: {{ $start | Quote }}, finishedAt: {{ $now | Quote }}, message: '${result}'}}}`,
  ];
  const stage = (
    name: string,
    matchExpressions: readonly object[],
    next: object,
    delayMs = 0,
    kind = "Pod",
  ) => ({
    apiVersion: "kwok.x-k8s.io/v1alpha1",
    kind: "Stage",
    metadata: { name },
    spec: {
      resourceRef: { apiGroup: "v1", kind },
      selector: { matchExpressions },
      delay: { durationMilliseconds: delayMs },
      next,
    },
  });
  const status = (phase: string, containers: string) => ({
    statusTemplate: [
      "{{ $now := Now }}",
      "{{ $start := .status.startTime }}",
      `{{ $action := index .metadata.labels ${JSON.stringify(LABEL.actionName)} }}`,
      `phase: ${phase}`,
      ...(phase === "Running" ? ["startTime: {{ $now | Quote }}"] : []),
      `containerStatuses:\n${containers}\n{{ end }}`,
    ].join("\n"),
  });
  return [
    stage("run", [isThere, inPhase("Pending")], status("Running", running)),
    stage("end", [isThere, inPhase("Running")], status("Succeeded", ended), podMs),
    stage("remove", [{ ...isThere, operator: "Exists" }], { delete: true }),
    // It leaves pods alone on nodes that it has no stage for.
    stage("node", [{ ...inPhase("Running"), operator: "NotIn" }], { statusTemplate: node }, 0, "Node"),
  ];
}

function logsFrom(logsFile: string): object {
  return {
    apiVersion: "kwok.x-k8s.io/v1alpha1",
    kind: "ClusterLogs",
    metadata: { name: "all" },
    spec: { logs: [{ logsFile, follow: false }] },
  };
}

/** In place of the scheduler: every pod gets a node in turn, whatever it needs. */
async function schedule(client: ClusterClient, nodes: readonly string[], signal: AbortSignal): Promise<void> {
  let turn = 0;
  const bound = new Set<string>();
  while (!signal.aborted) {
    try {
      const unscheduled = { fieldSelector: "spec.nodeName=" };
      for await (const { type, object } of client.watch(PODS, "", signal, unscheduled)) {
        const { name, uid = "" } = object.metadata;
        if (type !== "ADDED" || bound.has(uid)) continue;
        bound.add(uid);
        const target = { apiVersion: "v1", kind: "Node", name: nodes[turn++ % nodes.length] };
        await client.create(`${PODS}/${name}/binding`, { metadata: { name }, target });
      }
    } catch {
      // The server ended the watch, or the pod is gone.
    }
    await sleep(RETRY_MS, undefined, { signal }).catch(() => undefined);
  }
}

async function requestsIn(auditLog: string): Promise<readonly ApiRequest[]> {
  const requests = new Map<string, ApiRequest>();
  for await (const line of createInterface({ input: createReadStream(auditLog) })) {
    if (!line.includes('"userAgent":"pbnj-worker/')) continue;
    const { auditID, verb, objectRef, requestReceivedTimestamp, responseStatus } = JSON.parse(line);
    if (!objectRef) continue;
    const { resource, subresource, name: object = "" } = objectRef;
    const name = `${verb} ${subresource === undefined ? resource : `${resource}/${subresource}`}`;
    // A watch has two lines.
    const atMs = Date.parse(requestReceivedTimestamp);
    requests.set(auditID, { name, object, atMs, status: responseStatus?.code });
  }
  return [...requests.values()];
}
