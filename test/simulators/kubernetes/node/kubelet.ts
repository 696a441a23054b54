import { type Clock, systemClock } from "../../../../shared/clock.ts";
import { type KubeObject, microTimestamp, timestamp } from "../api/object.ts";
import { randomSuffix } from "../api/random-suffix.ts";
import type { ClusterAccess } from "../cluster.ts";
import { specOf } from "../kinds/pod.ts";
import { ClusterClient, ClusterError } from "./cluster-client.ts";
import { ContainerLog } from "./container-log.ts";
import { type FoundLog, type LogRequest, LogServer } from "./log-server.ts";
import { MountError, type MountedFile, mountedFiles } from "./mounted-files.ts";
import { core, involved, placeOf, podPath, type Reference } from "./paths.ts";
import {
  type ContainerEnd,
  containerNamed,
  containerStatuses,
  type PodStatus,
  phaseOf,
  podStatusOf,
  type State,
  terminated,
  withConditions,
} from "./pod-status.ts";

export interface KubeletOptions {
  /** The node's name; `node-1` when absent. */
  readonly node?: string;
  readonly clock?: Clock;
}

const NODES = "/api/v1/nodes";

/**
 * A node whose every step a test decides: it tells the API server over HTTP what a kubelet, a scheduler and a node
 * controller would, and serves the containers' logs as a kubelet does. It works at any API server that can reach it.
 */
export class Kubelet {
  readonly node: string;
  protected readonly client: ClusterClient;
  protected readonly clock: Clock;
  readonly #logs = new Map<string, ContainerLog>();
  readonly #previousLogs = new Map<string, ContainerLog>();
  readonly #lost = new Set<string>();
  readonly #server = new LogServer((request) => this.#findLog(request));

  /** Use `start`: nothing is told to the cluster before. */
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

  /** Serves logs, and makes the node known. */
  async register(): Promise<void> {
    await this.#server.listen(0, "127.0.0.1");
    await this.#registerNode(this.node);
  }

  async close(): Promise<void> {
    for (const log of this.#logs.values()) log.end(this.clock.now());
    await this.#server.stop();
    await this.client.close();
  }

  /** The pod as the cluster has it now. Rejects when there is none. */
  pod(reference: Reference): Promise<KubeObject> {
    return this.client.get(podPath(placeOf(reference)));
  }

  /** The scheduler's word: the pod has a node. */
  async schedule(reference: Reference, node = this.node): Promise<KubeObject> {
    if (node !== this.node) await this.#registerNode(node);
    const place = placeOf(reference);
    this.#forgetLogs(reference);
    await this.client.create(podPath(place, "binding"), {
      apiVersion: "v1",
      kind: "Binding",
      metadata: { name: place.name, namespace: place.namespace },
      target: { apiVersion: "v1", kind: "Node", name: node },
    });
    return this.waiting(reference, "ContainerCreating");
  }

  /** No node takes the pod. */
  async unschedulable(
    reference: Reference,
    message = "0/1 nodes are available: 1 Insufficient cpu.",
  ): Promise<KubeObject> {
    const pod = await this.pod(reference);
    const condition = { type: "PodScheduled", status: "False", reason: "Unschedulable", message };
    await this.event(pod, "Warning", "FailedScheduling", message);
    return this.#patchStatus(pod, {
      phase: "Pending",
      conditions: withConditions(pod, [condition], this.clock.now()),
    });
  }

  /** A container is not there yet: ContainerCreating, ErrImagePull, ImagePullBackOff, CreateContainerConfigError. */
  async waiting(
    reference: Reference,
    reason: string,
    message?: string,
    container?: string,
  ): Promise<KubeObject> {
    const pod = await this.pod(reference);
    const state: State = { waiting: { reason, ...(message === undefined ? {} : { message }) } };
    const names = container === undefined ? undefined : [containerNamed(pod, container)];
    return this.#patchStates(pod, state, names);
  }

  /** The container runs, or all of them do. */
  async start(reference: Reference, container?: string): Promise<KubeObject> {
    const pod = await this.#scheduled(reference);
    const names = container === undefined ? undefined : [containerNamed(pod, container)];
    return this.#patchStates(pod, { running: { startedAt: timestamp(this.clock.now()) } }, names);
  }

  /**
   * The container has ended. With its last one the pod has too, unless its restart policy has it run again; a pod that
   * is being deleted goes.
   */
  async finish(reference: Reference, end: ContainerEnd): Promise<KubeObject> {
    const pod = await this.#scheduled(reference);
    const name = containerNamed(pod, end.container);
    const current = containerStatuses(pod).find((status) => status.name === name)?.state;
    const state = terminated(end, current, this.clock.now());
    this.#logOf(pod, name).end(this.clock.now());
    const { restartPolicy } = specOf(pod);
    const again = restartPolicy === "Always" || (restartPolicy === "OnFailure" && end.exitCode !== 0);
    const patched =
      again && !pod.metadata.deletionTimestamp
        ? await this.#restart(pod, name, state)
        : await this.#patchStates(pod, state, [name]);
    const phase = podStatusOf(patched).phase;
    if (patched.metadata.deletionTimestamp && (phase === "Succeeded" || phase === "Failed"))
      await this.vanish(patched);
    return patched;
  }

  /** The node needs what the pod uses: it fails with the reason Evicted. */
  async evict(reference: Reference, message = "The node was low on resource: memory. "): Promise<KubeObject> {
    const pod = await this.#scheduled(reference);
    const now = this.clock.now();
    const killed = terminated({ exitCode: 137 }, undefined, now);
    const statuses = containerStatuses(pod).map((status) =>
      status.state?.running ? { ...status, ready: false, state: killed } : status,
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
   * The node is silent: logs cannot be had, and the control plane deletes the pod, which stays as it is because nobody
   * ends it. `vanish` is what the pod collector does in the end.
   */
  async nodeLost(reference: Reference): Promise<KubeObject> {
    const pod = await this.pod(reference);
    this.#lost.add(keyOf(pod));
    const node = String(pod.spec?.["nodeName"] ?? this.node);
    const conditions = [
      { type: "Ready", status: "False", reason: "NodeNotReady" },
      {
        type: "DisruptionTarget",
        status: "True",
        reason: "DeletionByTaintManager",
        message: "Taint manager: deleting due to NoExecute taint",
      },
    ];
    await this.#patchStatus(pod, {
      reason: "NodeLost",
      message: `Node ${node} which was running pod ${pod.metadata.name} is unresponsive`,
      conditions: withConditions(pod, conditions, this.clock.now()),
    });
    await this.client.delete(podPath(placeOf(pod)), { preconditions: { uid: pod.metadata.uid } });
    return this.pod(pod);
  }

  /** The pod is gone, grace or not; finalizers still hold it. */
  async vanish(reference: Reference): Promise<void> {
    const pod = await this.client.find(podPath(placeOf(reference)));
    if (!pod) return;
    for (const { name } of specOf(pod).containers) this.#logOf(pod, name).end(this.clock.now());
    await this.client.delete(podPath(placeOf(pod)), {
      gracePeriodSeconds: 0,
      preconditions: { uid: pod.metadata.uid },
    });
  }

  /** The container writes: whole lines as soon as their end is there. Both streams go into one log. */
  log(reference: Reference, container: string, text: string, _stream: "stdout" | "stderr" = "stdout"): void {
    this.#logOf(reference, container).write(text, this.clock.now());
  }

  /**
   * The files that the container's volumes show. Where a Secret or a key is missing it does what a kubelet does: an event, a
   * container that waits, and here a `MountError`.
   */
  async mounted(reference: Reference, container?: string): Promise<MountedFile[]> {
    const pod = await this.pod(reference);
    const name = containerNamed(pod, container);
    const found = specOf(pod).containers.find((one) => one.name === name);
    try {
      return found ? await mountedFiles(this.client, pod, found) : [];
    } catch (thrown) {
      if (!(thrown instanceof MountError)) throw thrown;
      await this.event(pod, "Warning", "FailedMount", thrown.message);
      await this.waiting(pod, "ContainerCreating");
      throw thrown;
    }
  }

  /** An Event about the object, as components leave them. */
  async event(about: KubeObject, type: "Normal" | "Warning", reason: string, message: string): Promise<void> {
    const { namespace = "default", name = "" } = about.metadata;
    const now = this.clock.now();
    await this.client.create(core(namespace, "events"), {
      apiVersion: "v1",
      kind: "Event",
      metadata: { name: `${name}.${randomSuffix(16)}`, namespace },
      involvedObject: involved(about),
      type,
      reason,
      message,
      source: { component: "kubelet", host: this.node },
      firstTimestamp: timestamp(now),
      lastTimestamp: timestamp(now),
      eventTime: microTimestamp(now),
      count: 1,
      action: reason,
      reportingComponent: "kubelet",
      reportingInstance: this.node,
    });
  }

  /** The pod, on a node: a kubelet knows no other. */
  async #scheduled(reference: Reference): Promise<KubeObject> {
    const pod = await this.pod(reference);
    return pod.spec?.["nodeName"] ? pod : this.schedule(pod);
  }

  async #restart(pod: KubeObject, name: string, ended: State): Promise<KubeObject> {
    const key = logKey(pod, name);
    this.#previousLogs.set(key, this.#logOf(pod, name));
    this.#logs.delete(key);
    const message = `back-off 10s restarting failed container=${name} pod=${pod.metadata.name}`;
    const statuses = containerStatuses(pod).map((status) =>
      status.name === name
        ? {
            ...status,
            ready: false,
            restartCount: status.restartCount + 1,
            lastState: ended,
            state: { waiting: { reason: "CrashLoopBackOff", message } },
          }
        : status,
    );
    return this.#patchStatus(pod, { phase: phaseOf(statuses), containerStatuses: statuses });
  }

  async #patchStates(
    pod: KubeObject,
    state: State,
    names: readonly string[] | undefined,
  ): Promise<KubeObject> {
    const now = this.clock.now();
    const statuses = containerStatuses(pod).map((status) => {
      if (names && !names.includes(status.name)) return status;
      const runs = state.running !== undefined;
      const containerID = state.waiting ? {} : { containerID: `test://${pod.metadata.uid}-${status.name}` };
      return { ...status, ...containerID, state, ready: runs, started: runs };
    });
    const ready = statuses.every((status) => status.ready) ? "True" : "False";
    const conditions = withConditions(
      pod,
      [
        { type: "Initialized", status: "True" },
        { type: "Ready", status: ready },
        { type: "ContainersReady", status: ready },
      ],
      now,
    );
    const began = podStatusOf(pod).startTime ?? timestamp(now);
    return this.#patchStatus(pod, {
      phase: phaseOf(statuses),
      containerStatuses: statuses,
      conditions,
      ...(pod.spec?.["nodeName"] ? { startTime: began, hostIP: "127.0.0.1", podIP: "10.244.0.10" } : {}),
    });
  }

  #patchStatus(pod: KubeObject, status: Partial<PodStatus>): Promise<KubeObject> {
    return this.client.patch(podPath(placeOf(pod), "status"), {
      metadata: { uid: pod.metadata.uid },
      status,
    });
  }

  async #registerNode(name: string): Promise<void> {
    try {
      await this.client.create(NODES, { apiVersion: "v1", kind: "Node", metadata: { name } });
    } catch (thrown) {
      // Left by a kubelet before this one: it gets the new port.
      if (!(thrown instanceof ClusterError) || thrown.status !== 409) throw thrown;
    }
    await this.client.patch(`${NODES}/${name}/status`, {
      status: {
        // No Hostname: an API server would look that up first.
        addresses: [{ type: "InternalIP", address: "127.0.0.1" }],
        daemonEndpoints: { kubeletEndpoint: { Port: this.#server.port } },
      },
    });
  }

  async #findLog({ namespace, name, container, previous }: LogRequest): Promise<FoundLog> {
    const pod = await this.client.find(podPath({ namespace, name }));
    if (!pod) return { status: 404, message: `pod "${name}" not found` };
    if (this.#lost.has(keyOf(pod))) return { status: 500, message: "the node does not answer" };
    const key = logKey({ metadata: { namespace, name } }, container);
    if (previous)
      return (
        this.#previousLogs.get(key) ?? {
          status: 400,
          message: `previous terminated container "${container}" in pod "${name}" not found`,
        }
      );
    const waiting = containerStatuses(pod).find((status) => status.name === container)?.state?.waiting;
    if (waiting)
      return {
        status: 400,
        message: `container "${container}" in pod "${name}" is waiting to start: ${waiting.reason}`,
      };
    return this.#logOf(pod, container);
  }

  /** A pod before it had the same name. */
  #forgetLogs(reference: Reference): void {
    for (const logs of [this.#logs, this.#previousLogs])
      for (const key of logs.keys()) if (key.startsWith(`${keyOf(reference)}/`)) logs.delete(key);
  }

  #logOf(reference: Reference, container: string): ContainerLog {
    const key = logKey(reference, container);
    const found = this.#logs.get(key);
    if (found) return found;
    const log = new ContainerLog();
    this.#logs.set(key, log);
    return log;
  }
}

function keyOf(reference: Reference): string {
  const { namespace, name } = placeOf(reference);
  return `${namespace}/${name}`;
}

function logKey(reference: Reference, container: string): string {
  return `${keyOf(reference)}/${container}`;
}
