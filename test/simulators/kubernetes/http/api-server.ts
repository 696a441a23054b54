import type { IncomingMessage, ServerResponse } from "node:http";
import type { Dispatcher } from "undici";
import { textOf } from "../../../../shared/text-of.ts";
import { decodeObject, type FieldValidation } from "../api/decode.ts";
import { parseDeleteOptions } from "../api/deletion.ts";
import {
  ApiFailure,
  badRequest,
  bodyTooLarge,
  forbidden,
  methodNotAllowed,
  noSuchResource,
  unauthorized,
  unsupportedMediaType,
} from "../api/failure.ts";
import type { JsonObject } from "../api/object.ts";
import type { ObjectApi, Target, WriteOptions } from "../api/object-api.ts";
import { allows, denial } from "../api/rbac.ts";
import type { ResourceType } from "../api/resource-type.ts";
import type { ObjectStore } from "../api/store.ts";
import { sendFailure, sendJson, sendText } from "./answer.ts";
import { discover } from "./discovery.ts";
import type { Faults } from "./faults.ts";
import { listObjects, listOf, parseSelectors } from "./list.ts";
import { chooseContainer, forwardLog, kubeletAddressOf } from "./pod-log.ts";
import { parseResourceRequest, type ResourceRequest } from "./request-info.ts";
import { reviewAccess, reviewRules } from "./reviews.ts";
import type { SeenRequest } from "./seen-request.ts";
import type { User, Users } from "./users.ts";
import { WatchStream } from "./watch.ts";

/** The real server's limit for a body. */
const BODY_LIMIT = 3 * 1024 * 1024;
const HEALTH_PATHS = ["/healthz", "/livez", "/readyz"];
const BODY_TYPES = ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];

/** What the handler works with; it owns none of it. */
export interface ApiServerParts {
  readonly store: ObjectStore;
  readonly api: ObjectApi;
  readonly users: Users;
  readonly faults: Faults;
  readonly watches: Set<WatchStream>;
  /** Towards kubelets. */
  readonly dispatcher: Dispatcher;
  types(): readonly ResourceType[];
  record(request: SeenRequest): void;
  /** The connection is the control plane's. */
  recordControlPlane(connection: object): void;
  now(): number;
  latencyMs(): number;
  /** How a watch learns that its version is too old: by an event after 200, or by the status of the answer. */
  staleWatches(): "event" | "status";
}

interface Exchange {
  readonly request: ResourceRequest;
  readonly type: ResourceType;
  readonly user: User;
  readonly query: URLSearchParams;
  readonly contentType: string;
  readonly body: string;
  readonly response: ServerResponse;
}

/** Answers HTTP as kube-apiserver does. */
export class ApiServer {
  readonly #parts: ApiServerParts;

  constructor(parts: ApiServerParts) {
    this.#parts = parts;
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      await this.#answer(request, response);
    } catch (thrown) {
      if (response.headersSent || response.destroyed) response.destroy();
      else if (thrown instanceof ApiFailure) sendFailure(response, thrown);
      else sendFailure(response, new ApiFailure(500, "InternalError", `Internal error occurred: ${thrown}`));
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const method = request.method ?? "GET";
    const url = new URL(request.url ?? "/", "https://cluster");
    const resource = parseResourceRequest(method, url);
    const user = this.#parts.users.find(request.headers.authorization);
    const body = await readBody(request);
    const seen = {
      ...describe(request, url, resource),
      user: user?.name,
      body: body ?? "",
      at: this.#parts.now(),
    };
    if (user?.controlPlane) this.#parts.recordControlPlane(request.socket);
    else this.#parts.record(seen);
    const latencyMs = user?.controlPlane ? 0 : this.#parts.latencyMs();
    if (latencyMs > 0) await new Promise((resolve) => setTimeout(resolve, latencyMs));
    const fault = user?.controlPlane ? undefined : this.#parts.faults.take(seen);
    if (fault?.kind === "hang") return;
    if (fault?.kind === "fail") throw fault.failure;
    // The answer goes nowhere, while all that it reports happens.
    if (fault?.kind === "lose-answer") swallowAnswer(response);
    if (HEALTH_PATHS.includes(url.pathname)) {
      sendText(response, 200, "ok");
      return;
    }
    if (url.pathname !== "/version" && !user) throw unauthorized();
    if (body === undefined) throw bodyTooLarge(BODY_LIMIT);
    if (!resource || !user) this.#discover(response, url.pathname);
    else {
      const type = this.#typeOf(resource);
      if (!type) sendText(response, 404, "404 page not found\n");
      else {
        const contentType = (request.headers["content-type"] ?? "").split(";")[0]?.trim() ?? "";
        await this.#serve({
          request: resource,
          type,
          user,
          query: url.searchParams,
          contentType,
          body,
          response,
        });
      }
    }
  }

  #discover(response: ServerResponse, path: string): void {
    const found = discover(path, this.#parts.types());
    if (found) sendJson(response, 200, found);
    else sendText(response, 404, "404 page not found\n");
  }

  /** Undefined where a custom resource would be; of a built-in group the server itself says what is missing. */
  #typeOf({ group, version, resource }: ResourceRequest): ResourceType | undefined {
    const served = this.#parts.types().filter((type) => type.group === group && type.version === version);
    const found = served.find((type) => type.plural === resource);
    if (found) return found;
    if (served.some((type) => !type.schema)) throw noSuchResource();
    return undefined;
  }

  async #serve(exchange: Exchange): Promise<void> {
    const { request, type, user } = exchange;
    if (!type.virtual && !allows(user.rules, request)) throw this.#denied(type, user, request);
    if (request.subresource !== "" && !type.subresources.includes(request.subresource))
      throw noSuchResource();
    if (type.virtual) this.#review(exchange);
    else if (request.subresource === "log") await this.#log(exchange);
    else if (request.subresource === "binding") this.#bind(exchange);
    else this.#object(exchange);
  }

  #object(exchange: Exchange): void {
    const { request, type, query, response } = exchange;
    const { store, api } = this.#parts;
    const target: Target = { type, namespace: type.namespaced ? request.namespace : "", name: request.name };
    const subresource = request.subresource === "status" ? "status" : "";
    const options = writeOptions(query);
    switch (request.verb) {
      case "get":
        sendJson(response, 200, api.get(target));
        return;
      case "list":
        sendJson(response, 200, listObjects(store, type, target.namespace, query));
        return;
      case "watch":
        this.#watch(exchange, target);
        return;
      case "create": {
        if (request.name !== "" || (type.namespaced && target.namespace === "")) throw methodNotAllowed();
        const created = api.create(type, target.namespace, parseBody(exchange), options);
        sendJson(response, 201, created, options.warnings);
        return;
      }
      case "update": {
        if (request.name === "") throw methodNotAllowed();
        const { object, created } = api.update(target, parseBody(exchange), subresource, options);
        sendJson(response, created ? 201 : 200, object, options.warnings);
        return;
      }
      case "patch": {
        if (request.name === "") throw methodNotAllowed();
        if (!exchange.contentType.endsWith("patch+json")) throw plainUnsupported();
        const patched = api.patch(target, exchange.contentType, exchange.body, subresource, options);
        sendJson(response, 200, patched, options.warnings);
        return;
      }
      case "delete":
        if (subresource !== "") throw methodNotAllowed();
        this.#delete(exchange, target);
        return;
      case "deletecollection":
        this.#deleteMany(exchange, target);
        return;
      default:
        request.verb satisfies never;
    }
  }

  #delete(exchange: Exchange, target: Target): void {
    const { type } = target;
    const warnings: string[] = [];
    const options = parseDeleteOptions(parseOptionalBody(exchange), exchange.query);
    const { object, gone } = this.#parts.api.delete(target, options, warnings);
    const { group, plural } = type;
    const { name, uid } = object.metadata;
    // Pods and whatever is still there come back whole; of the rest only a Status tells.
    const whole = !gone || (group === "" && (type.kind === "Pod" || type.kind === "ServiceAccount"));
    const details = { name, ...(group === "" ? {} : { group }), kind: plural, uid };
    const status = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", details };
    sendJson(exchange.response, 200, whole ? object : status, warnings);
  }

  #deleteMany(exchange: Exchange, { type, namespace }: Target): void {
    const { store, api } = this.#parts;
    if (type.namespaced && namespace === "") throw methodNotAllowed();
    const matches = parseSelectors(type, exchange.query);
    const options = parseDeleteOptions(parseOptionalBody(exchange), exchange.query);
    const meant = store.list(type, namespace).filter(matches);
    const deleted = meant.map(
      ({ metadata }) => api.delete({ type, namespace, name: metadata.name ?? "" }, options).object,
    );
    sendJson(exchange.response, 200, listOf(type, deleted, String(store.revision)));
  }

  #watch({ query, response, user: { controlPlane } }: Exchange, { type, namespace }: Target): void {
    const { store, watches } = this.#parts;
    const stream = new WatchStream(store, response, { type, namespace, query, controlPlane });
    try {
      stream.open({});
    } catch (thrown) {
      const isOld = thrown instanceof ApiFailure && thrown.code === 410;
      if (!isOld || this.#parts.staleWatches() === "status") throw thrown;
      stream.expire(thrown);
      return;
    }
    watches.add(stream);
    response.once("close", () => watches.delete(stream));
  }

  #review(exchange: Exchange): void {
    const { request, type, user, response } = exchange;
    if (request.verb !== "create") throw methodNotAllowed();
    const review = decodeObject(type, parseBody(exchange), writeOptions(exchange.query));
    const answer = type.kind === "SelfSubjectAccessReview" ? reviewAccess : reviewRules;
    sendJson(response, 201, answer(review, user.rules));
  }

  async #log(exchange: Exchange): Promise<void> {
    const { request, type, query, response } = exchange;
    if (request.verb !== "get") throw methodNotAllowed();
    const { api, dispatcher } = this.#parts;
    const pod = api.get({ type, namespace: request.namespace, name: request.name });
    const container = chooseContainer(pod, query);
    const nodeName = pod.spec?.["nodeName"];
    if (typeof nodeName !== "string") {
      // No node, no kubelet to ask: the real server says nothing at all.
      response.writeHead(204).end();
      return;
    }
    const nodes = this.#parts.types().find(({ kind }) => kind === "Node");
    if (!nodes) throw noSuchResource();
    const address = kubeletAddressOf(api.get({ type: nodes, namespace: "", name: nodeName }));
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    await forwardLog(response, address, pod, container, query, dispatcher, gone.signal);
  }

  #bind(exchange: Exchange): void {
    const { request, type, response } = exchange;
    if (request.verb !== "create") throw methodNotAllowed();
    this.#parts.api.bind({ type, namespace: request.namespace, name: request.name }, parseBody(exchange));
    sendJson(response, 201, { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code: 201 });
  }

  #denied(type: ResourceType, user: User, request: ResourceRequest): ApiFailure {
    const { name } = request;
    // A list of one name is still said of the kind.
    const subject = request.verb === "list" || request.verb === "watch" ? "" : name;
    return forbidden(type, subject, denial(user.name, { ...request, name: subject }));
  }
}

function describe(
  request: IncomingMessage,
  url: URL,
  resource: ResourceRequest | undefined,
): Omit<SeenRequest, "user" | "body" | "at"> {
  const none = {
    verb: "",
    group: "",
    version: "",
    resource: "",
    subresource: "",
    namespace: "",
    name: "",
  } as const;
  return {
    ...(resource ?? none),
    method: request.method ?? "",
    path: request.url ?? "",
    query: url.searchParams,
    headers: request.headers,
    userAgent: request.headers["user-agent"] ?? "",
  };
}

/** Undefined for one that is too large, which is read to its end all the same. */
async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size <= BODY_LIMIT) chunks.push(chunk);
  }
  return size > BODY_LIMIT ? undefined : Buffer.concat(chunks).toString("utf8");
}

function swallowAnswer(response: ServerResponse): void {
  const lose = () => {
    response.destroy();
    return response;
  };
  Object.assign(response, { writeHead: () => response, write: () => true, end: lose, flushHeaders: lose });
}

function writeOptions(query: URLSearchParams): WriteOptions & { warnings: string[] } {
  const fieldValidation = (query.get("fieldValidation") ?? "Warn") as FieldValidation;
  if (!["Ignore", "Warn", "Strict"].includes(fieldValidation))
    throw badRequest(`fieldValidation: Unsupported value: ${JSON.stringify(fieldValidation)}`);
  return { fieldValidation, warnings: [], dryRun: query.getAll("dryRun").includes("All") };
}

function parseBody({ type, body, contentType }: Exchange): unknown {
  if (contentType !== "application/json") throw unsupportedMediaType(BODY_TYPES);
  try {
    return JSON.parse(body);
  } catch (thrown) {
    const why = textOf(thrown);
    throw badRequest(
      `the object provided is unrecognized (must be of type ${type.kind}): couldn't get version/kind; json parse error: ${why}`,
    );
  }
}

function parseOptionalBody(exchange: Exchange): JsonObject | undefined {
  return exchange.body === "" ? undefined : (parseBody(exchange) as JsonObject);
}

/** What a PATCH with the type of a whole object gets. */
function plainUnsupported(): ApiFailure {
  return new ApiFailure(415, "UnsupportedMediaType", "415: Unsupported Media Type", {});
}
