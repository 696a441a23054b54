import type { IncomingMessage, ServerResponse } from "node:http";
import type { Dispatcher } from "undici";
import type { DeleteOptions } from "../api/deletion.ts";
import {
  ApiFailure,
  badRequest,
  forbidden,
  methodNotAllowed,
  noSuchResource,
  unauthorized,
} from "../api/failure.ts";
import type { JsonObject, KubeObject } from "../api/object.ts";
import type { ObjectApi, Target } from "../api/objects.ts";
import { denialOf, isAllowed, type User, type Users } from "../api/rbac.ts";
import { BUILT_IN_TYPES, type ResourceType } from "../api/resource-types.ts";
import { parseSelectors } from "../api/selectors.ts";
import type { ObjectStore } from "../api/store.ts";
import { discoveryAt } from "./discovery.ts";
import type { Faults } from "./faults.ts";
import { listObjects } from "./list.ts";
import { forwardLog } from "./pod-log.ts";
import { parseResourceRequest, type ResourceRequest, type SeenRequest, seenRequest } from "./request.ts";
import { WatchStream } from "./watch.ts";

/** The parts of the cluster with which the server works. */
export interface ApiServerOptions {
  readonly store: ObjectStore;
  readonly api: ObjectApi;
  readonly users: Users;
  readonly faults: Faults;
  readonly watches: Set<WatchStream>;
  /** The HTTP dispatcher for requests to kubelets. */
  readonly dispatcher: Dispatcher;
  types(): readonly ResourceType[];
  record(request: SeenRequest): void;
  latencyMs(): number;
}

interface Exchange {
  readonly request: ResourceRequest;
  readonly user: User;
  readonly query: URLSearchParams;
  readonly contentType: string;
  readonly body: string;
  readonly response: ServerResponse;
}

/** Answers HTTP requests like kube-apiserver. */
export class ApiServer {
  readonly #options: ApiServerOptions;

  constructor(options: ApiServerOptions) {
    this.#options = options;
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
    const { faults, users, record, latencyMs } = this.#options;
    const url = new URL(request.url ?? "/", "https://cluster");
    const resource = parseResourceRequest(request.method ?? "GET", url);
    const user = users.find(request.headers.authorization);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString("utf8");
    if (!user?.controlPlane) {
      const seen = seenRequest(request, resource, user?.name, body);
      record(seen);
      if (latencyMs() > 0) await new Promise((resolve) => setTimeout(resolve, latencyMs()));
      const fault = faults.take(seen);
      if (fault?.kind === "hang") return;
      if (fault?.kind === "fail") throw fault.failure;
      if (fault?.kind === "lose-answer") discardAnswer(response);
    }
    if (url.pathname === "/version")
      sendJson(response, 200, { major: "1", minor: "36", gitVersion: "v1.36.3" });
    else if (!user) throw unauthorized();
    else if (!resource) {
      const discovery = discoveryAt(url.pathname, this.#options.types());
      if (discovery) sendJson(response, 200, discovery);
      else sendNotFound(response);
    } else {
      const contentType = request.headers["content-type"] ?? "";
      await this.#serve({ request: resource, user, query: url.searchParams, contentType, body, response });
    }
  }

  async #serve(exchange: Exchange): Promise<void> {
    const { request, user, response } = exchange;
    const type = this.#typeOf(request);
    if (!type) {
      sendNotFound(response);
      return;
    }
    if (type.kind === "SelfSubjectAccessReview") {
      const { spec } = parseBody(exchange) as { spec: { resourceAttributes: Partial<ResourceRequest> } };
      const asked = { group: "", subresource: "", namespace: "", name: "", ...spec.resourceAttributes };
      const allowed = isAllowed(user.rules, asked as ResourceRequest);
      sendJson(response, 201, { ...(parseBody(exchange) as JsonObject), status: { allowed } });
      return;
    }
    if (!isAllowed(user.rules, request)) {
      const subject = request.verb === "list" || request.verb === "watch" ? "" : request.name;
      throw forbidden(type, subject, denialOf(user, request));
    }
    const target = { type, namespace: type.namespaced ? request.namespace : "", name: request.name };
    if (request.subresource === "log") await this.#log(exchange, target);
    else if (request.subresource === "binding") {
      const { target: node } = parseBody(exchange) as { target: { name: string } };
      this.#options.api.bind(target, node.name);
      sendJson(response, 201, { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success" });
    } else this.#object(exchange, target);
  }

  #object(exchange: Exchange, target: Target): void {
    const { request, query, contentType, response } = exchange;
    const { store, api } = this.#options;
    const { type, namespace, name } = target;
    if (!["", ...(type.hasStatus ? ["status"] : [])].includes(request.subresource)) throw noSuchResource();
    const subresource = request.subresource === "status" ? "status" : "";
    const isOfOne = ["update", "patch", "delete"].includes(request.verb);
    if (isOfOne ? name === "" : request.verb === "create" && name !== "") throw methodNotAllowed();
    switch (request.verb) {
      case "get":
        sendJson(response, 200, api.get(target));
        return;
      case "list":
        sendJson(response, 200, listObjects(store, type, namespace, query));
        return;
      case "watch":
        this.#watch(exchange, target);
        return;
      case "create":
        sendJson(response, 201, api.create(type, namespace, parseBody(exchange)));
        return;
      case "update":
        sendJson(response, 200, api.update(target, parseBody(exchange), subresource));
        return;
      case "patch":
        sendJson(
          response,
          200,
          api.patch(target, contentType, parseBody(exchange), subresource, query.get("fieldManager") ?? ""),
        );
        return;
      case "delete":
        sendJson(response, 200, api.delete(target, parseBody(exchange) as DeleteOptions));
        return;
      case "deletecollection": {
        const list = listObjects(store, type, namespace, query);
        const options = parseBody(exchange) as DeleteOptions;
        for (const { metadata } of store.list(type, namespace).filter(parseSelectors(query))) {
          api.delete({ type, namespace: metadata.namespace ?? "", name: metadata.name ?? "" }, options);
        }
        sendJson(response, 200, list);
        return;
      }
      default:
        request.verb satisfies never;
    }
  }

  #watch({ query, response, user: { controlPlane } }: Exchange, { type, namespace }: Target): void {
    // A server without WatchList refuses this; its clients list before they watch.
    if (query.has("sendInitialEvents"))
      throw new ApiFailure(422, "Invalid", "sendInitialEvents: Forbidden: the WatchList feature gate is off");
    const { store, watches } = this.#options;
    const stream = new WatchStream(store, response, { type, namespace, query, controlPlane });
    if (!stream.open(query)) return;
    watches.add(stream);
    response.once("close", () => {
      stream.close();
      watches.delete(stream);
    });
  }

  async #log({ query, response }: Exchange, target: Target): Promise<void> {
    const { api, dispatcher } = this.#options;
    const pod = api.get(target);
    const nodeName = pod.spec?.["nodeName"];
    const type = BUILT_IN_TYPES.find(({ kind }) => kind === "Node");
    // Without a node there is no kubelet to ask, and the real server also sends an empty answer.
    if (!nodeName || !type) response.writeHead(204).end();
    else {
      const node = api.get({ type, namespace: "", name: String(nodeName) });
      await forwardLog(response, pod, node, query, dispatcher);
    }
  }

  /**
   * Returns undefined where a custom resource could be. For a built-in group, the server knows that the resource does not
   * exist.
   */
  #typeOf({ group, version, resource }: ResourceRequest): ResourceType | undefined {
    const served = this.#options.types().filter((type) => type.group === group && type.version === version);
    const found = served.find((type) => type.plural === resource);
    if (!found && served.some((type) => !type.custom)) throw noSuchResource();
    return found;
  }
}

function sendJson(response: ServerResponse, status: number, body: JsonObject | KubeObject): void {
  response.writeHead(status, { "Content-Type": "application/json" }).end(`${JSON.stringify(body)}\n`);
}

function sendFailure(response: ServerResponse, failure: ApiFailure): void {
  const { retryAfterSeconds } = failure;
  if (retryAfterSeconds !== undefined) response.setHeader("Retry-After", String(retryAfterSeconds));
  sendJson(response, failure.code, failure.toStatus());
}

/** Answers a path that is not served, without a Status. */
function sendNotFound(response: ServerResponse): void {
  response.writeHead(404, { "Content-Type": "text/plain; charset=utf-8" }).end("404 page not found\n");
}

/** Closes the connection instead of sending the answer. */
function discardAnswer(response: ServerResponse): void {
  const destroy = () => response.destroy();
  Object.assign(response, {
    writeHead: () => response,
    write: () => true,
    end: destroy,
    flushHeaders: destroy,
  });
}

function parseBody({ body, contentType }: Exchange): unknown {
  if (contentType.startsWith("application/vnd.kubernetes.protobuf")) {
    throw new ApiFailure(
      415,
      "UnsupportedMediaType",
      "the simulated API server reads JSON only, not protobuf: use a real one, as test/interop/kubernetes does",
    );
  }
  try {
    return body === "" ? {} : JSON.parse(body);
  } catch (thrown) {
    throw badRequest(`the object provided is unrecognized: json parse error: ${thrown}`);
  }
}
