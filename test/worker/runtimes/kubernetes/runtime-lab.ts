import { randomUUID } from "node:crypto";
import { afterAll, vi } from "vitest";
import {
  FakeCluster,
  type FakeClusterOptions,
  type KubeObject,
} from "../../../../simulators/kubernetes/cluster.ts";
import type { ClusterAccess } from "../../../../simulators/kubernetes/node/cluster-access.ts";
import { ClusterClient } from "../../../../simulators/kubernetes/node/cluster-client.ts";
import { Kubelet } from "../../../../simulators/kubernetes/node/kubelet.ts";
import type { EndedAction, LaunchRequest } from "../../../../worker/core/ports/runtime.ts";
import { Cluster } from "../../../../worker/kubernetes/client/cluster.ts";
import type { PodConfig } from "../../../../worker/runtimes/kubernetes/job-spec.ts";
import {
  KubernetesRuntime,
  type KubernetesRuntimeOptions,
} from "../../../../worker/runtimes/kubernetes/kubernetes-runtime.ts";
import { launchName } from "../../../../worker/runtimes/launch-name.ts";
import { type Folder, openFolder } from "../../../support/folder.ts";
import { keptLog } from "../../../support/kept-log.ts";
import { kubeconfigOf } from "../../../support/kubeconfig.ts";

export const never = new AbortController().signal;
const WAIT = { timeout: 60_000, interval: 20 };

export const podConfig: PodConfig = {
  pullPolicy: "if-missing",
  user: "65532:65532",
  memoryBytes: 256 * 1024 * 1024,
  cpus: 1,
  startTimeoutMs: 60_000,
  nodeSelector: [],
  tolerations: [],
  pullSecrets: [],
  labels: [],
  annotations: [],
};

export interface LabOptions {
  /** The cluster's own, and who looks at what the worker did. */
  readonly control: ClusterAccess;
  /** The worker's. */
  readonly worker: ClusterAccess;
  readonly namespace: string;
}

export type RuntimeOptions = Partial<Omit<KubernetesRuntimeOptions, "pods" | "cluster">> & {
  readonly pods?: Partial<PodConfig>;
  readonly access?: ClusterAccess;
  readonly requestTimeoutMs?: number;
};

/** A namespace of some cluster, a node whose steps the test decides, and runtimes as workers make them. */
export class RuntimeLab {
  readonly namespace: string;
  readonly client: ClusterClient;
  readonly kubelet: Kubelet;
  readonly #kept = keptLog();
  readonly said = this.#kept.said;
  readonly #worker: ClusterAccess;
  readonly #folder: Folder;
  readonly #runtimes: { readonly runtime: KubernetesRuntime; readonly cluster: Cluster }[] = [];

  private constructor(options: LabOptions, kubelet: Kubelet, folder: Folder) {
    this.namespace = options.namespace;
    this.client = new ClusterClient(options.control);
    this.kubelet = kubelet;
    this.#worker = options.worker;
    this.#folder = folder;
  }

  static async start(options: LabOptions): Promise<RuntimeLab> {
    const node = `node-${randomUUID().slice(0, 8)}`;
    return new RuntimeLab(options, await Kubelet.start(options.control, { node }), await openFolder());
  }

  /** The runtime of a worker that starts. */
  async runtime(options: RuntimeOptions = {}): Promise<KubernetesRuntime> {
    return (await this.worker(options)).runtime;
  }

  /** A runtime and its connection to the cluster. */
  async worker({ pods, access, requestTimeoutMs, ...options }: RuntimeOptions = {}) {
    const text = kubeconfigOf(access ?? this.#worker);
    const kubeconfig = await this.#folder.write(`${randomUUID()}.yaml`, text);
    const cluster = await Cluster.open({
      kubeconfig,
      namespace: this.namespace,
      ...(requestTimeoutMs === undefined ? {} : { requestTimeoutMs }),
    });
    const runtime = new KubernetesRuntime({
      cluster,
      pods: { ...podConfig, ...pods },
      owner: "state-1",
      shared: false,
      log: this.#kept.log,
      stopGraceMs: 1_000,
      ...options,
    });
    this.#runtimes.push({ runtime, cluster });
    return { runtime, cluster };
  }

  async close(): Promise<void> {
    for (const { runtime, cluster } of this.#runtimes) {
      await runtime.close();
      await cluster.close();
    }
    await this.kubelet.close();
    await this.client.delete(`/api/v1/nodes/${this.kubelet.node}`);
    await this.client.close();
    await this.#folder[Symbol.asyncDispose]();
  }

  /** The Job of the action, once there is one of which `holds` is true. */
  job(request: LaunchRequest, holds: (job: KubeObject) => boolean = () => true): Promise<KubeObject> {
    return vi.waitFor(async () => {
      const job = await this.findJob(request);
      if (!job || !holds(job)) throw new Error(`no such Job: ${JSON.stringify(job?.metadata)}`);
      return job;
    }, WAIT);
  }

  findJob(request: LaunchRequest): Promise<KubeObject | undefined> {
    return this.client.find(`${this.#path("/apis/batch/v1", "jobs")}/${launchName(request.action)}`);
  }

  /** The pod of the action, once there is one of which `holds` is true. */
  pod(request: LaunchRequest, holds: (pod: KubeObject) => boolean = () => true): Promise<KubeObject> {
    return vi.waitFor(async () => {
      const [pod] = await this.pods(request);
      if (!pod || !holds(pod)) throw new Error(`no such pod: ${JSON.stringify(pod?.metadata)}`);
      return pod;
    }, WAIT);
  }

  async pods(request: LaunchRequest): Promise<readonly KubeObject[]> {
    const selector = encodeURIComponent(`batch.kubernetes.io/job-name=${launchName(request.action)}`);
    return (await this.client.list(`${this.#path("/api/v1", "pods")}?labelSelector=${selector}`)).items;
  }

  /** How many pods were ever made for the action. */
  async podsMade(request: LaunchRequest): Promise<number> {
    const { items } = await this.client.list(this.#path("/api/v1", "events"));
    return items.filter((event) => {
      const { reason, involvedObject } = event as unknown as {
        reason: string;
        involvedObject: { name: string };
      };
      return reason === "SuccessfulCreate" && involvedObject.name === launchName(request.action);
    }).length;
  }

  /** Plays the action's node from the pod's making to the container's start. */
  async startPod(request: LaunchRequest): Promise<KubeObject> {
    const pod = await this.pod(request);
    await this.kubelet.start(pod, "action");
    return pod;
  }

  async secrets(): Promise<readonly KubeObject[]> {
    return (await this.client.list(this.#path("/api/v1", "secrets"))).items;
  }

  create(resource: string, object: object): Promise<KubeObject> {
    return this.client.create(this.#path("/api/v1", resource), object);
  }

  async remove(resource: "jobs" | "pods" | "secrets", name: string, options: object = {}): Promise<void> {
    const root = resource === "jobs" ? "/apis/batch/v1" : "/api/v1";
    await this.client.delete(`${this.#path(root, resource)}/${name}`, options);
  }

  patchJob(request: LaunchRequest, patch: object): Promise<KubeObject> {
    return this.client.patch(`${this.#path("/apis/batch/v1", "jobs")}/${launchName(request.action)}`, patch);
  }

  #path(root: string, resource: string): string {
    return `${root}/namespaces/${this.namespace}/${resource}`;
  }
}

/** A lab in the namespace `actions` of a new simulated cluster. */
export async function runtimeLab(options: FakeClusterOptions = {}) {
  const namespace = "actions";
  const cluster = await FakeCluster.start({ namespaces: ["default", namespace], ...options });
  const lab = await RuntimeLab.start({ control: cluster.controlPlane, worker: cluster.access(), namespace });
  return {
    ...{ cluster, lab },
    async [Symbol.asyncDispose]() {
      await lab.close();
      await cluster.close();
    },
  };
}

/** A lab for all tests of a file, closed after the last one. */
export async function fileRuntimeLab(options: FakeClusterOptions = {}) {
  const there = await runtimeLab(options);
  afterAll(() => there[Symbol.asyncDispose]());
  return there;
}

/** An action under way: what it logs, and its end. */
export interface UnderWay {
  readonly request: LaunchRequest;
  readonly ended: Promise<EndedAction>;
  readonly cancel: AbortController;
}

/** Begins to run an action; a failure of the test does not leave its rejection unseen. */
export function begin(runtime: KubernetesRuntime, request: LaunchRequest): UnderWay {
  const cancel = new AbortController();
  const ended = runtime.run(request, cancel.signal);
  ended.catch(() => undefined);
  return { request, ended, cancel };
}
