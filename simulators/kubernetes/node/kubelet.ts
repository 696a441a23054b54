import { type Clock, systemClock } from "../../../shared/clock.ts";
import { defined } from "../../../shared/defined.ts";
import { type KubeObject, timestamp } from "../api/object.ts";
import type { ClusterAccess } from "./cluster-access.ts";
import { ClusterClient, ClusterError } from "./cluster-client.ts";
import { ContainerLog } from "./container-log.ts";
import { type FoundLog, type LogRequest, LogServer } from "./log-server.ts";
import { MountError, type MountedFile, mountedFiles } from "./mounted-files.ts";
import { corePath, eventOf, placeOf, podPath } from "./paths.ts";
import {
  type ContainerEnd,
  containerNamed,
  containerStatuses,
  type PodStatus,
  phaseOf,
  podSpecOf,
  podStatusOf,
  type State,
  terminated,
  withConditions,
} from "./pod-status.ts";

export interface KubeletOptions {
  /** The node's name. Defaults to `node-1`. */
  readonly node?: string;
  readonly clock?: Clock;
}

/** A pod, identified by its name and namespace. */
type PodReference = Pick<KubeObject, "metadata">;

const NODES = "/api/v1/nodes";

/**
 * A node that a test controls: it reports to the API server over HTTP what a kubelet, a scheduler and a node controller
 * would, and serves the containers' logs. Works with any API server that can connect to it.
 */
export class Kubelet {
  readonly node: string;
  protected readonly client: ClusterClient;
  protected readonly clock: Clock;
  readonly #logs = new Map<string, ContainerLog>();
  readonly #lostPods = new Set<string>();
  readonly #server = new LogServer((request) => this.#findLog(request));

  /** For internal use: `start` also registers the node. */
  constructor(access: ClusterAccess, options: KubeletOptions = {}) {
    this.client = new ClusterClient(access);
    this.node = options.node ?? "node-1";
    this.clock = options.clock ?? systemClock;
  }

  static async start(access: ClusterAccess, options: KubeletOptions = {}): Promise<Kubelet> {
    const kubelet = new Kubelet(access, options);
    await kubelet.register();
    return kubelet;
  }

  async register(): Promise<void> {
    await this.#server.listen(0, "127.0.0.1");
    const node = { apiVersion: "v1", kind: "Node", metadata: { name: this.node } };
    await this.client.create(NODES, node).catch((thrown: unknown) => {
      // An earlier kubelet created the node, which gets the new port.
      if (!(thrown instanceof ClusterError) || thrown.status !== 409) throw thrown;
    });
    await this.client.patch(`${NODES}/${this.node}/status`, {
      status: {
        addresses: [{ type: "InternalIP", address: "127.0.0.1" }],
        daemonEndpoints: { kubeletEndpoint: { Port: this.#server.port } },
      },
    });
  }

  async close(): Promise<void> {
    for (const log of this.#logs.values()) log.end(this.clock.now());
    await this.#server.stop();
    await this.client.close();
  }

  /** Reads the pod. Rejects if there is none. */
  pod(reference: PodReference): Promise<KubeObject> {
    return this.client.get(podPath(reference));
  }

  /** Binds the pod to this node, like the scheduler. */
  async schedule(reference: PodReference): Promise<KubeObject> {
    await this.client.create(podPath(reference, "binding"), {
      apiVersion: "v1",
      kind: "Binding",
      metadata: placeOf(reference),
      target: { apiVersion: "v1", kind: "Node", name: this.node },
    });
    return this.waiting(reference, "ContainerCreating");
  }

  /** Reports that no node accepts the pod. */
  async unschedulable(reference: PodReference, message: string): Promise<KubeObject> {
    const pod = await this.pod(reference);
    const condition = { type: "PodScheduled", status: "False", reason: "Unschedulable", message };
    await this.event(pod, "Warning", "FailedScheduling", message);
    const conditions = withConditions(pod, [condition], this.clock.now());
    return this.#patchStatus(pod, { phase: "Pending", conditions });
  }

  /** Reports a container that cannot run yet: ErrImagePull, ImagePullBackOff, CreateContainerConfigError. */
  async waiting(
    reference: PodReference,
    reason: string,
    message?: string,
    container?: string,
  ): Promise<KubeObject> {
    const pod = await this.pod(reference);
    return this.#patchStates(pod, { waiting: { reason, ...defined({ message }) } }, container);
  }

  /** Reports that the container, or every container, is running. */
  async start(reference: PodReference, container?: string): Promise<KubeObject> {
    const pod = await this.#scheduled(reference);
    return this.#patchStates(pod, { running: { startedAt: timestamp(this.clock.now()) } }, container);
  }

  /** Reports that the container has ended, and the pod with its last container. A pod that is being deleted is then removed. */
  async finish(reference: PodReference, end: ContainerEnd): Promise<KubeObject> {
    const pod = await this.#scheduled(reference);
    const name = containerNamed(pod, end.container);
    const now = this.clock.now();
    const current = containerStatuses(pod).find((status) => status.name === name)?.state;
    this.#logOf(pod, name).end(now);
    const patched = await this.#patchStates(pod, terminated(end, current, now), name);
    const hasEnded = ["Succeeded", "Failed"].includes(podStatusOf(patched).phase ?? "");
    if (patched.metadata.deletionTimestamp && hasEnded) await this.vanish(patched);
    return patched;
  }

  /** Evicts the pod because the node needs its resources. */
  async evict(reference: PodReference, message: string): Promise<KubeObject> {
    const pod = await this.#scheduled(reference);
    const now = this.clock.now();
    const state = terminated({ exitCode: 137 }, undefined, now);
    const statuses = containerStatuses(pod).map((status) =>
      status.state?.running ? { ...status, ready: false, state } : status,
    );
    for (const { name } of statuses) this.#logOf(pod, name).end(now);
    const condition = { type: "DisruptionTarget", status: "True", reason: "TerminationByKubelet", message };
    await this.event(pod, "Warning", "Evicted", message);
    return this.#patchStatus(pod, {
      phase: "Failed",
      reason: "Evicted",
      message,
      containerStatuses: statuses,
      conditions: withConditions(pod, [condition], now),
    });
  }

  /**
   * Simulates a node that stops responding: logs are unavailable, and the control plane deletes the pod, which keeps its
   * last state. `vanish` does what the pod garbage collector eventually does.
   */
  async nodeLost(reference: PodReference): Promise<KubeObject> {
    const pod = await this.pod(reference);
    this.#lostPods.add(podPath(pod));
    const message = "Taint manager: deleting due to NoExecute taint";
    const conditions = [
      { type: "Ready", status: "False", reason: "NodeNotReady" },
      { type: "DisruptionTarget", status: "True", reason: "DeletionByTaintManager", message },
    ];
    await this.#patchStatus(pod, {
      reason: "NodeLost",
      message: `Node ${this.node} which was running pod ${pod.metadata.name} is unresponsive`,
      conditions: withConditions(pod, conditions, this.clock.now()),
    });
    await this.client.delete(podPath(pod), { preconditions: { uid: pod.metadata.uid } });
    return this.pod(pod);
  }

  /** Removes the pod without a grace period. Finalizers still hold it. */
  async vanish(reference: PodReference): Promise<void> {
    const pod = await this.client.find(podPath(reference));
    if (!pod) return;
    for (const { name } of podSpecOf(pod).containers) this.#logOf(pod, name).end(this.clock.now());
    const { uid } = pod.metadata;
    await this.client.delete(podPath(pod), { gracePeriodSeconds: 0, preconditions: { uid } });
  }

  /** Adds output of the container to its log, which stdout and stderr share. */
  log(reference: PodReference, container: string, text: string): void {
    this.#logOf(reference, container).write(text, this.clock.now());
  }

  /** Returns the container's mounted files. If a Secret is missing, reports that like a kubelet and rejects. */
  async mounted(reference: PodReference, container?: string): Promise<MountedFile[]> {
    const pod = await this.pod(reference);
    const name = containerNamed(pod, container);
    const found = podSpecOf(pod).containers.find((one) => one.name === name);
    try {
      return found ? await mountedFiles(this.client, pod, found) : [];
    } catch (thrown) {
      if (!(thrown instanceof MountError)) throw thrown;
      await this.event(pod, "Warning", "FailedMount", thrown.message);
      await this.waiting(pod, "ContainerCreating");
      throw thrown;
    }
  }

  async event(about: KubeObject, type: "Normal" | "Warning", reason: string, message: string): Promise<void> {
    const event = eventOf(about, "kubelet", { type, reason, message }, this.clock.now());
    await this.client.create(corePath(placeOf(about).namespace, "events"), event);
  }

  async #scheduled(reference: PodReference): Promise<KubeObject> {
    const pod = await this.pod(reference);
    return pod.spec?.["nodeName"] ? pod : this.schedule(pod);
  }

  /** Sets the state of one container or of all. */
  async #patchStates(pod: KubeObject, state: State, container: string | undefined): Promise<KubeObject> {
    const now = this.clock.now();
    const isRunning = state.running !== undefined;
    const statuses = containerStatuses(pod).map((status) => {
      if (container !== undefined && status.name !== container) return status;
      const containerID = state.waiting ? undefined : `test://${pod.metadata.uid}-${status.name}`;
      return { ...status, state, ready: isRunning, started: isRunning, ...defined({ containerID }) };
    });
    const ready = statuses.every((status) => status.ready) ? "True" : "False";
    const isScheduled = pod.spec?.["nodeName"] !== undefined;
    const startTime = isScheduled ? (podStatusOf(pod).startTime ?? timestamp(now)) : undefined;
    return this.#patchStatus(pod, {
      phase: phaseOf(statuses),
      containerStatuses: statuses,
      conditions: withConditions(pod, [{ type: "Ready", status: ready }], now),
      ...defined({ startTime }),
    });
  }

  #patchStatus(pod: KubeObject, status: Partial<PodStatus>): Promise<KubeObject> {
    return this.client.patch(podPath(pod, "status"), { metadata: { uid: pod.metadata.uid }, status });
  }

  async #findLog({ namespace, name, container }: LogRequest): Promise<FoundLog> {
    const reference = { metadata: { namespace, name } };
    const pod = await this.client.find(podPath(reference));
    if (!pod) return { status: 404, message: `pod "${name}" not found` };
    if (this.#lostPods.has(podPath(pod))) return { status: 500, message: "the node does not answer" };
    const { state } = containerStatuses(pod).find((status) => status.name === container) ?? {};
    if (!state?.waiting) return this.#logOf(pod, container);
    const why = `is waiting to start: ${state.waiting.reason}`;
    return { status: 400, message: `container "${container}" in pod "${name}" ${why}` };
  }

  #logOf(reference: PodReference, container: string): ContainerLog {
    const key = `${podPath(reference)}/${container}`;
    const log = this.#logs.get(key) ?? new ContainerLog();
    this.#logs.set(key, log);
    return log;
  }
}
