import { Agent } from "undici";
import { stringify } from "yaml";
import { WebServer } from "../web-server.ts";
import { BUILT_IN_TYPES } from "./api/built-in-types.ts";
import { ApiFailure } from "./api/failure.ts";
import { GarbageCollector } from "./api/garbage-collector.ts";
import type { KubeObject } from "./api/object.ts";
import { ObjectApi, type Target, type WriteOptions } from "./api/object-api.ts";
import type { RbacRule } from "./api/rbac.ts";
import { apiVersionOf, type ResourceType } from "./api/resource-type.ts";
import { parseLabelSelector } from "./api/selectors.ts";
import { ObjectStore } from "./api/store.ts";
import { CUSTOM_TYPES } from "./custom/custom-types.ts";
import { ApiServer } from "./http/api-server.ts";
import { type FailureAnswer, Faults, type PlannedFault } from "./http/faults.ts";
import type { Verb } from "./http/request-info.ts";
import type { RequestMatcher, SeenRequest } from "./http/seen-request.ts";
import { Users } from "./http/users.ts";
import type { WatchStream } from "./http/watch.ts";
import { JobController } from "./node/job-controller.ts";

/** A version means it in both groups; a group with its version only that. */
export type CrdSet =
  | "v1alpha1"
  | "v1alpha2"
  | `${"bmc.tinkerbell.org" | "tinkerbell.org"}/${"v1alpha1" | "v1alpha2"}`;

export interface FakeClusterOptions {
  /** Plain HTTP with false. */
  readonly tls?: boolean;
  /** Tinkerbell's kinds that are there at the start; v1alpha1 when absent. */
  readonly crds?: readonly CrdSet[];
  /** `default` and `tink-system` when absent. */
  readonly namespaces?: readonly string[];
  /**
   * Whether dependants are collected, namespaces emptied and Jobs given their Pods; without, it is an API server alone.
   */
  readonly controllers?: boolean;
  /** Before the second Pod of a failing Job; 10 s when absent, as the real controller has it. */
  readonly retryDelayMs?: number;
  /** Changes of one kind that a watch can look back on. */
  readonly historyLimit?: number;
  readonly host?: string;
  readonly port?: number;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
}

/** Where a cluster is and how to get in. */
export interface ClusterAccess {
  readonly url: string;
  /** PEM; the system's authorities when absent. */
  readonly ca?: string;
  readonly token?: string;
  /** A client's certificate and key, PEM. */
  readonly cert?: string;
  readonly key?: string;
}

const HISTORY_LIMIT = 10_000;
const QUIET: WriteOptions = { fieldValidation: "Strict", warnings: [], dryRun: false };

/**
 * An API server on a real socket, with the strictness of the real one: what it refuses, kube-apiserver 1.36 refuses.
 * Objects are in memory. The cluster's own parts (controllers, kubelets) come in by `controlPlane`.
 */
export class FakeCluster {
  /** The all-powerful user's. */
  readonly token: string;
  /** All that came in, but for the control plane's. */
  readonly requests: SeenRequest[] = [];
  /** Added to every answer but the control plane's. */
  latencyMs = 0;
  /** How a watch learns that its resourceVersion is too old; the real server sends the event. */
  staleWatches: "event" | "status" = "event";
  readonly #server: WebServer;
  readonly #store: ObjectStore;
  readonly #api: ObjectApi;
  readonly #users = new Users();
  readonly #faults = new Faults();
  readonly #watches = new Set<WatchStream>();
  readonly #dispatcher = new Agent({ connect: { rejectUnauthorized: false } });
  readonly #collector: GarbageCollector | undefined;
  readonly #controlPlaneToken: string;
  readonly #controlPlaneSockets = new WeakSet<object>();
  #controlPlaneConnections = 0;
  readonly #host: string;
  readonly #retryDelayMs: number;
  #jobController: JobController | undefined;
  #port: number;
  #types: readonly ResourceType[];

  private constructor(options: FakeClusterOptions) {
    const now = options.now ?? Date.now;
    const { crds = ["v1alpha1"], historyLimit = HISTORY_LIMIT } = options;
    this.#host = options.host ?? "127.0.0.1";
    this.#port = options.port ?? 0;
    this.#retryDelayMs = options.retryDelayMs ?? 10_000;
    this.#types = [...BUILT_IN_TYPES, ...customTypes(crds)];
    this.#store = new ObjectStore(historyLimit);
    const namespaces = builtIn("Namespace");
    const find = (kind: string, namespace: string, name: string) =>
      this.#store.find(builtIn(kind), namespace, name);
    this.#api = new ObjectApi(this.#store, { find, namespaces }, now);
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
      recordControlPlane: (connection) => this.#countControlPlane(connection),
      now,
      latencyMs: () => this.latencyMs,
      staleWatches: () => this.staleWatches,
    });
    this.#server = new WebServer(
      options.tls === false ? "http" : undefined,
      (request, response) => void server.handle(request, response),
    );
    this.#furnishNamespaces();
    for (const name of options.namespaces ?? ["default", "tink-system"])
      this.create("v1", "Namespace", { metadata: { name } });
    this.#collector =
      options.controllers === false ? undefined : new GarbageCollector(this.#store, this.#api);
  }

  static async start(options: FakeClusterOptions = {}): Promise<FakeCluster> {
    const cluster = new FakeCluster(options);
    await cluster.listen();
    if (options.controllers !== false)
      cluster.#jobController = JobController.start(cluster.controlPlane, {
        retryDelayMs: cluster.#retryDelayMs,
      });
    return cluster;
  }

  get url(): string {
    return this.#server.url;
  }

  /** The server's own certificate, PEM; "" for plain HTTP. */
  get ca(): string {
    return this.#server.certificate?.cert ?? "";
  }

  /** As the all-powerful user, or as the one of the token. */
  access(token = this.token): ClusterAccess {
    return { url: this.url, token, ...(this.ca === "" ? {} : { ca: this.ca }) };
  }

  /** For the cluster's own parts: uncounted, and spared by faults. */
  get controlPlane(): ClusterAccess {
    return this.access(this.#controlPlaneToken);
  }

  /** TCP connections accepted so far, but for the control plane's that have asked something. */
  get connections(): number {
    return this.#server.connections - this.#controlPlaneConnections;
  }

  /** The text of a kubeconfig with one context, the token and the CA within. */
  kubeconfig(options: { readonly namespace?: string; readonly token?: string } = {}): string {
    const { namespace, token = this.token } = options;
    const authority =
      this.ca === "" ? {} : { "certificate-authority-data": Buffer.from(this.ca).toString("base64") };
    return stringify({
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "fake", cluster: { server: this.url, ...authority } }],
      users: [{ name: "fake", user: { token } }],
      contexts: [
        {
          name: "fake",
          context: { cluster: "fake", user: "fake", ...(namespace === undefined ? {} : { namespace }) },
        },
      ],
      "current-context": "fake",
    });
  }

  /** Gives the token of a new user who may do what the rules say and nothing else. */
  addUser(name: string, rules: readonly RbacRule[]): string {
    return this.#users.add(name, rules);
  }

  /** The token is refused from now on. */
  removeUser(token: string): void {
    this.#users.remove(token);
  }

  /** In the namespace of the object's metadata, `default` without one. Throws what the API would refuse. */
  create(apiVersion: string, kind: string, object: object): KubeObject {
    const type = this.#typeOf(apiVersion, kind);
    const { metadata = {} } = object as Partial<KubeObject>;
    return this.#api.create(
      type,
      namespaceOf(type, metadata.namespace),
      { apiVersion, kind, ...object },
      QUIET,
    );
  }

  get(apiVersion: string, kind: string, name: string, namespace?: string): KubeObject | undefined {
    const type = this.#typeOf(apiVersion, kind);
    return this.#store.find(type, namespaceOf(type, namespace), name);
  }

  /** Of all namespaces when none is named. */
  list(apiVersion: string, kind: string, namespace = "", labelSelector = ""): KubeObject[] {
    return this.#store
      .list(this.#typeOf(apiVersion, kind), namespace)
      .filter(parseLabelSelector(labelSelector));
  }

  /** Replaces the whole object; with its resourceVersion only if nobody was faster. */
  replace(apiVersion: string, kind: string, object: KubeObject): KubeObject {
    const { name = "", namespace } = object.metadata;
    const target = this.#target(apiVersion, kind, name, namespace);
    const metadata = { resourceVersion: this.#api.get(target).metadata.resourceVersion, ...object.metadata };
    return this.#api.update(target, { ...object, metadata }, "", QUIET).object;
  }

  /** A merge patch of the object. */
  patch(apiVersion: string, kind: string, name: string, patch: object, namespace?: string): KubeObject {
    const target = this.#target(apiVersion, kind, name, namespace);
    return this.#api.patch(target, "application/merge-patch+json", JSON.stringify(patch), "", QUIET);
  }

  /** A merge patch of the status alone. */
  patchStatus(
    apiVersion: string,
    kind: string,
    name: string,
    status: object,
    namespace?: string,
  ): KubeObject {
    const target = this.#target(apiVersion, kind, name, namespace);
    return this.#api.patch(
      target,
      "application/merge-patch+json",
      JSON.stringify({ status }),
      "status",
      QUIET,
    );
  }

  /** In the background; what depends on it follows in a later turn. */
  remove(apiVersion: string, kind: string, name: string, namespace?: string): void {
    this.#api.delete(this.#target(apiVersion, kind, name, namespace), { propagationPolicy: "Background" });
  }

  /** Defines Tinkerbell's kinds. */
  addCrds(...crds: readonly CrdSet[]): void {
    this.#types = [...new Set([...this.#types, ...customTypes(crds)])];
  }

  /** Takes the kinds away with all their objects; their watches end. */
  removeCrds(...crds: readonly CrdSet[]): void {
    const removed = customTypes(crds);
    for (const type of removed)
      for (const object of this.#store.list(type, "")) this.#store.delete(type, object);
    this.#types = this.#types.filter((type) => !removed.includes(type));
    for (const watch of this.#watches) if (removed.includes(watch.type)) watch.drop();
  }

  /** How many requests came in, of one verb, of one resource (the plural), or of all. */
  countBy(verb?: Verb, resource?: string): number {
    const counted = this.requests.filter(
      (request) =>
        (verb === undefined ? request.verb !== "" || resource === undefined : request.verb === verb) &&
        (resource === undefined || request.resource === resource),
    );
    return counted.length;
  }

  forgetRequests(): void {
    this.requests.length = 0;
  }

  /** The next `times` requests of the kind are refused. */
  fail(matcher: RequestMatcher, answer: FailureAnswer): PlannedFault {
    return this.#faults.fail(matcher, answer);
  }

  /** The next `times` requests of the kind get no answer, ever. */
  hang(matcher: RequestMatcher, times = 1): PlannedFault {
    return this.#faults.hang(matcher, times);
  }

  /** The next `times` requests of the kind are carried out, and their connection closes without an answer. */
  loseAnswer(matcher: RequestMatcher, times = 1): PlannedFault {
    return this.#faults.loseAnswer(matcher, times);
  }

  /** Ends every open watch, or leaves it open without a byte ever again. Gives how many there were. */
  dropWatches({ silently = false, resource }: { silently?: boolean; resource?: string } = {}): number {
    const meant = this.openWatches(resource);
    for (const watch of meant) {
      if (silently) watch.silence();
      else watch.drop();
    }
    return meant.length;
  }

  /** Tells watches that want to know how far they are. */
  sendBookmarks(): void {
    for (const watch of this.#watches) watch.bookmark();
  }

  /** Open watches but the control plane's, of one resource (the plural) or of all. */
  openWatches(resource?: string): WatchStream[] {
    return [...this.#watches].filter(
      ({ type, controlPlane }) => !controlPlane && (resource === undefined || type.plural === resource),
    );
  }

  /** Every resourceVersion so far is too old to watch from or to continue at. */
  expireHistory(): void {
    this.#store.forget();
  }

  /** Open watches of the kind never learn what `change` does; later lists and watches do. */
  async watchGap(kind: string, change: () => void | Promise<void>): Promise<void> {
    const types = this.#types.filter(
      (type) => type.kind === kind || type.plural === kind || `${apiVersionOf(type)}/${type.kind}` === kind,
    );
    if (types.length === 0) throw new Error(`the cluster has no kind ${kind}`);
    for (const type of types) this.#store.mute(type);
    try {
      await change();
    } finally {
      for (const type of types) this.#store.unmute(type);
    }
  }

  /** Ends every connection; nobody answers until `listen`. */
  async stop(): Promise<void> {
    for (const watch of this.#watches) watch.close();
    this.#watches.clear();
    await this.#server.stop();
  }

  /** At the same address as before. */
  async listen(): Promise<void> {
    await this.#server.listen(this.#port, this.#host);
    this.#port = this.#server.port;
  }

  /** Connections end, objects stay. With `expire`, as when the new server has no history. */
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

  #countControlPlane(connection: object): void {
    if (this.#controlPlaneSockets.has(connection)) return;
    this.#controlPlaneSockets.add(connection);
    this.#controlPlaneConnections++;
  }

  /** What controllers of the real cluster put into every namespace before anyone uses it. */
  #furnishNamespaces(): void {
    this.#store.observe(({ kind }, { type, object }) => {
      if (kind !== "Namespace" || type !== "ADDED") return;
      const { name: namespace = "" } = object.metadata;
      this.create("v1", "ServiceAccount", { metadata: { name: "default", namespace } });
      this.create("v1", "ConfigMap", {
        metadata: { name: "kube-root-ca.crt", namespace },
        data: { "ca.crt": this.ca },
      });
    });
  }

  #target(apiVersion: string, kind: string, name: string, namespace?: string): Target {
    const type = this.#typeOf(apiVersion, kind);
    return { type, name, namespace: namespaceOf(type, namespace) };
  }

  #typeOf(apiVersion: string, kind: string): ResourceType {
    const type = this.#types.find((one) => apiVersionOf(one) === apiVersion && one.kind === kind);
    if (!type) throw new ApiFailure(404, "NotFound", `the cluster has no ${kind} in ${apiVersion}`);
    return type;
  }
}

function namespaceOf({ namespaced }: ResourceType, namespace = "default"): string {
  return namespaced ? namespace : "";
}

function builtIn(kind: string): ResourceType {
  const type = BUILT_IN_TYPES.find((one) => one.kind === kind);
  if (!type) throw new Error(`no built-in kind is called ${kind}`);
  return type;
}

function customTypes(crds: readonly CrdSet[]): ResourceType[] {
  return CUSTOM_TYPES.filter((type) =>
    crds.some((crd) => crd === type.version || crd === apiVersionOf(type)),
  );
}

export type { KubeObject } from "./api/object.ts";
export type { RbacRule } from "./api/rbac.ts";
export type { PlannedFault } from "./http/faults.ts";
export type { RequestMatcher, SeenRequest } from "./http/seen-request.ts";
