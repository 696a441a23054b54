import { Agent } from "undici";
import { stringify } from "yaml";
import { type Clock, systemClock } from "../../shared/clock.ts";
import { defined } from "../../shared/defined.ts";
import { WebServer } from "../web-server.ts";
import { ApiFailure } from "./api/failure.ts";
import { GarbageCollector } from "./api/garbage-collector.ts";
import type { KubeObject } from "./api/object.ts";
import { ObjectApi, type Target } from "./api/objects.ts";
import { MERGE_PATCH } from "./api/patch.ts";
import { type RbacRule, Users } from "./api/rbac.ts";
import { apiVersionOf, BUILT_IN_TYPES, CUSTOM_TYPES, type ResourceType } from "./api/resource-types.ts";
import { parseLabelSelector } from "./api/selectors.ts";
import { ObjectStore } from "./api/store.ts";
import { ApiServer } from "./http/api-server.ts";
import { type FailureAnswer, Faults, type PlannedFault } from "./http/faults.ts";
import type { RequestMatcher, SeenRequest, Verb } from "./http/request.ts";
import type { WatchStream } from "./http/watch.ts";
import type { ClusterAccess } from "./node/cluster-access.ts";
import { JobController } from "./node/job-controller.ts";

/** A set of CRDs. A version includes both of Tinkerbell's groups. */
export type CrdSet =
  | "v1alpha1"
  | "v1alpha2"
  | `${"bmc.tinkerbell.org" | "tinkerbell.org"}/${"v1alpha1" | "v1alpha2"}`
  | "metal3.io/v1alpha1";

export interface FakeClusterOptions {
  /** The CRDs at the start. Defaults to v1alpha1. */
  readonly crds?: readonly CrdSet[];
  /** Resources of these sets that the cluster does not have, such as `hostdeploypolicies`. */
  readonly lacks?: readonly string[];
  /** The namespaces. Defaults to `default` and `tink-system`. */
  readonly namespaces?: readonly string[];
  /** Whether controllers run. If false, there is only an API server: nothing is garbage-collected, and Jobs get no Pods. */
  readonly controllers?: boolean;
  readonly host?: string;
  readonly port?: number;
  readonly clock?: Clock;
}

/**
 * A Kubernetes API server on a real socket, with objects in memory, faults and a clock that tests control. It does only what
 * this project relies on; test/interop checks what a real server validates.
 */
export class FakeCluster {
  /** The token of a user with all rights. */
  readonly token: string;
  /** All requests except the control plane's. */
  readonly requests: SeenRequest[] = [];
  /** The delay added to every answer, except to the control plane. */
  latencyMs = 0;
  readonly #server: WebServer;
  readonly #store = new ObjectStore();
  readonly #api: ObjectApi;
  readonly #users = new Users();
  readonly #faults = new Faults();
  readonly #watches = new Set<WatchStream>();
  readonly #dispatcher = new Agent({ connect: { rejectUnauthorized: false } });
  readonly #controlPlaneToken: string;
  readonly #host: string;
  #collector: GarbageCollector | undefined;
  #jobController: JobController | undefined;
  #port: number;
  #types: readonly ResourceType[];

  private constructor(options: FakeClusterOptions) {
    const { crds = ["v1alpha1"], namespaces = ["default", "tink-system"], clock = systemClock } = options;
    const { lacks = [] } = options;
    this.#host = options.host ?? "127.0.0.1";
    this.#port = options.port ?? 0;
    this.#types = [...BUILT_IN_TYPES, ...customTypes(crds)].filter(({ plural }) => !lacks.includes(plural));
    this.#api = new ObjectApi(this.#store, () => clock.now());
    this.token = this.#users.add("kubernetes-admin");
    this.#controlPlaneToken = this.#users.add("system:control-plane", undefined, true);
    const server = new ApiServer({
      store: this.#store,
      api: this.#api,
      users: this.#users,
      faults: this.#faults,
      watches: this.#watches,
      dispatcher: this.#dispatcher,
      types: () => this.#types,
      record: (request) => this.requests.push(request),
      latencyMs: () => this.latencyMs,
    });
    this.#server = new WebServer(undefined, (request, response) => void server.handle(request, response));
    for (const name of namespaces) this.create("v1", "Namespace", { metadata: { name } });
  }

  static async start(options: FakeClusterOptions = {}): Promise<FakeCluster> {
    const cluster = new FakeCluster(options);
    await cluster.listen();
    if (options.controllers === false) return cluster;
    const { clock } = options;
    cluster.#collector = new GarbageCollector(cluster.#store, cluster.#api);
    cluster.#jobController = JobController.start(cluster.controlPlane, defined({ clock }));
    return cluster;
  }

  get url(): string {
    return this.#server.url;
  }

  /** The server's own certificate in PEM. */
  get ca(): string {
    return this.#server.certificate?.cert ?? "";
  }

  access(token = this.token): ClusterAccess {
    return { url: this.url, token, ca: this.ca };
  }

  /** The access for components of the cluster: their requests are not recorded, and faults do not affect them. */
  get controlPlane(): ClusterAccess {
    return this.access(this.#controlPlaneToken);
  }

  /** The number of TCP connections accepted so far. */
  get connections(): number {
    return this.#server.connections;
  }

  /** Returns the text of a kubeconfig that needs no other file. */
  kubeconfig({ namespace, token = this.token }: { namespace?: string; token?: string } = {}): string {
    const ca = Buffer.from(this.ca).toString("base64");
    return stringify({
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "fake", cluster: { server: this.url, "certificate-authority-data": ca } }],
      users: [{ name: "fake", user: { token } }],
      contexts: [{ name: "fake", context: { cluster: "fake", user: "fake", ...defined({ namespace }) } }],
      "current-context": "fake",
    });
  }

  /** Adds a user with only these rules and returns its token. */
  addUser(name: string, rules: readonly RbacRule[]): string {
    return this.#users.add(name, rules);
  }

  removeUser(token: string): void {
    this.#users.remove(token);
  }

  /** Creates an object in the namespace of its metadata, or in `default`. Throws if the API would refuse it. */
  create(apiVersion: string, kind: string, object: object): KubeObject {
    const { metadata = {} } = object as Partial<KubeObject>;
    const { type, namespace } = this.#target(apiVersion, kind, "", metadata.namespace);
    return this.#api.create(type, namespace, { apiVersion, kind, ...object });
  }

  get(apiVersion: string, kind: string, name: string, namespace?: string): KubeObject | undefined {
    const target = this.#target(apiVersion, kind, name, namespace);
    return this.#store.find(target.type, target.namespace, name);
  }

  /** Lists objects of a kind, in all namespaces if none is given. */
  list(apiVersion: string, kind: string, namespace = "", labelSelector = ""): KubeObject[] {
    const { type } = this.#target(apiVersion, kind, "");
    return this.#store.list(type, namespace).filter(parseLabelSelector(labelSelector));
  }

  /** Replaces the whole object. */
  replace(apiVersion: string, kind: string, object: KubeObject): KubeObject {
    const { name = "", namespace } = object.metadata;
    return this.#api.update(this.#target(apiVersion, kind, name, namespace), object);
  }

  /** Applies a merge patch. */
  patch(apiVersion: string, kind: string, name: string, patch: object, namespace?: string): KubeObject {
    return this.#api.patch(this.#target(apiVersion, kind, name, namespace), MERGE_PATCH, patch);
  }

  /** Applies a merge patch to the status only. */
  patchStatus(
    apiVersion: string,
    kind: string,
    name: string,
    status: object,
    namespace?: string,
  ): KubeObject {
    const target = this.#target(apiVersion, kind, name, namespace);
    return this.#api.patch(target, MERGE_PATCH, { status }, "status");
  }

  /** Removes an object, and its dependants in the background. */
  remove(apiVersion: string, kind: string, name: string, namespace?: string): void {
    const target = this.#target(apiVersion, kind, name, namespace);
    this.#api.delete(target, { propagationPolicy: "Background" });
  }

  addCrds(...crds: readonly CrdSet[]): void {
    this.#types = [...new Set([...this.#types, ...customTypes(crds)])];
  }

  /** Removes the kinds with all their objects, and ends their watches. */
  removeCrds(...crds: readonly CrdSet[]): void {
    const removed = customTypes(crds);
    for (const type of removed)
      for (const object of this.#store.list(type, "")) this.#store.delete(type, object);
    this.#types = this.#types.filter((type) => !removed.includes(type));
    for (const watch of this.#watches) if (removed.includes(watch.type)) watch.drop();
  }

  /** Returns the number of requests, optionally of one verb and one resource (its plural). */
  countBy(verb?: Verb, resource?: string): number {
    return this.requests.filter(
      (seen) =>
        (verb === undefined || seen.verb === verb) && (resource === undefined || seen.resource === resource),
    ).length;
  }

  forgetRequests(): void {
    this.requests.length = 0;
  }

  /** Makes the next `times` matching requests fail. */
  fail(matcher: RequestMatcher, answer: FailureAnswer): PlannedFault {
    return this.#faults.fail(matcher, answer);
  }

  /** Never answers the next `times` matching requests. */
  hang(matcher: RequestMatcher, times = 1): PlannedFault {
    return this.#faults.plan(matcher, { kind: "hang" }, times);
  }

  /** Carries out the next `times` matching requests, but closes their connections without an answer. */
  loseAnswer(matcher: RequestMatcher, times = 1): PlannedFault {
    return this.#faults.plan(matcher, { kind: "lose-answer" }, times);
  }

  /** Breaks every open watch, or leaves it open but silent. */
  dropWatches({ silently = false, resource }: { silently?: boolean; resource?: string } = {}): void {
    for (const watch of this.openWatches(resource)) {
      if (silently) watch.silence();
      else watch.drop();
    }
  }

  /** Returns all open watches except the control plane's, optionally of one resource (its plural). */
  openWatches(resource?: string): WatchStream[] {
    return [...this.#watches].filter(
      ({ type, controlPlane }) => !controlPlane && (resource === undefined || type.plural === resource),
    );
  }

  /** Expires the history, so that no watch can resume from an earlier resourceVersion. */
  expireHistory(): void {
    this.#store.expireHistory();
  }

  /** Runs `change` while open watches of the kind see nothing. Later lists and watches see the changes. */
  async watchGap(kind: string, change: () => void | Promise<void>): Promise<void> {
    const types = this.#types.filter(
      (type) => type.kind === kind || `${apiVersionOf(type)}/${type.kind}` === kind,
    );
    if (types.length === 0) throw new Error(`the cluster has no kind ${kind}`);
    for (const type of types) this.#store.setMuted(type, true);
    try {
      await change();
    } finally {
      for (const type of types) this.#store.setMuted(type, false);
    }
  }

  /** Closes every connection, and accepts none until `listen`. */
  async stop(): Promise<void> {
    for (const watch of this.#watches) watch.close();
    this.#watches.clear();
    await this.#server.stop();
  }

  /** Listens again at the same address. */
  async listen(): Promise<void> {
    await this.#server.listen(this.#port, this.#host);
    this.#port = this.#server.port;
  }

  /** Closes connections and keeps objects. With `expire` the history is lost. */
  async restart({ expire = false }: { expire?: boolean } = {}): Promise<void> {
    await this.stop();
    if (expire) this.expireHistory();
    await this.listen();
  }

  async close(): Promise<void> {
    this.#collector?.close();
    await this.#jobController?.close();
    await this.stop();
    await this.#dispatcher.destroy();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #target(apiVersion: string, kind: string, name: string, namespace = "default"): Target {
    const type = this.#types.find((one) => apiVersionOf(one) === apiVersion && one.kind === kind);
    if (!type) throw new ApiFailure(404, "NotFound", `the cluster has no ${kind} in ${apiVersion}`);
    return { type, name, namespace: type.namespaced ? namespace : "" };
  }
}

function customTypes(crds: readonly CrdSet[]): ResourceType[] {
  return CUSTOM_TYPES.filter((type) =>
    crds.some((crd) => crd === apiVersionOf(type) || (crd === type.version && type.group !== "metal3.io")),
  );
}

export type { KubeObject } from "./api/object.ts";
export type { RbacRule } from "./api/rbac.ts";
export type { PlannedFault } from "./http/faults.ts";
export type { RequestMatcher, SeenRequest } from "./http/request.ts";
