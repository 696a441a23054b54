import type { IncomingMessage, ServerResponse } from "node:http";
import type { HandleRequest, WebServer } from "../../simulators/web-server.ts";
import { drain, type HeldAnswer, holdAnswer, withoutLength } from "./held-answer.ts";
import { handMoved, MOVES, movedPath } from "./moves.ts";

/** Faults of an HTTP answer. `before` answers in place of the server; `after` once the server has carried the request out. */

/** A request that reached the server, and what the server did with it. */
export interface SeenWrite {
  readonly method: string;
  readonly path: string;
  /** The server's own status; undefined for a request that it never saw. */
  readonly status: number | undefined;
}

interface FaultyAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** How this protocol says that something failed in an answer with status 200, and what a refusal looks like. */
export interface HttpWords {
  readonly errorObject: string;
  /** What a refusal with a status says, where that is something else. */
  readonly refusal?: (status: number) => string;
  /** Whether the protocol has tasks. */
  readonly hasTasks: boolean;
  /** Whether a method changes nothing. */
  readonly readsOnly: (method: string) => boolean;
}

const REFUSALS = [401, 403, 404, 405, 409, 500, 501, 502, 503, 504] as const;
/** Refused in so many words: nothing was done, and a client may rely on it. */
export const PLAIN_REFUSAL = "400-before";
const JSON_TYPE = { "Content-Type": "application/json" };
const MONITOR = "/redfish/v1/TaskService/TaskMonitors/matrix";
const TASK = "/redfish/v1/TaskService/Tasks/matrix";
/** What a request takes, in the thread's time. */
const LATENCY_MS = 5;

const TASK_ENDS = {
  "task-fails": {
    TaskState: "Exception",
    TaskStatus: "Critical",
    Messages: [
      { MessageId: "Contoso.1.0.TaskFailed", Message: "The task has failed.", Severity: "Critical" },
    ],
  },
  "task-unknown": { TaskState: "Contoso", TaskStatus: "OK" },
  "task-endless": { TaskState: "Running", TaskStatus: "OK", PercentComplete: 10 },
} as const;
type TaskEnd = keyof typeof TASK_ENDS;

/** Names of the faults that a request of this method can have. */
export function httpFaults(method: string, { hasTasks, readsOnly }: HttpWords): readonly string[] {
  const plain = [...REFUSALS.map(String), "empty", "object", "error-object"];
  if (readsOnly(method)) return ["lost", ...plain, "redirect", "half"];
  const tasks = hasTasks ? Object.keys(TASK_ENDS) : [];
  const both = ["lost", ...plain, ...tasks].flatMap((name) => [`${name}-before`, `${name}-after`]);
  return [...both, "half-after", "redirect-before", PLAIN_REFUSAL];
}

/** Stands in front of a server, counts its requests and makes one answer faulty. */
export class HttpFaults {
  readonly methods: string[] = [];
  /** Methods with their paths. */
  readonly requests: string[] = [];
  readonly writes: SeenWrite[] = [];
  readonly #words: HttpWords;
  readonly #fault: { readonly at: number; readonly name: string } | undefined;
  /** What the faulty request was. */
  hit: string | undefined;
  #taskEnd: TaskEnd | undefined;

  constructor(server: WebServer, words: HttpWords, fault?: { readonly at: number; readonly name: string }) {
    this.#words = words;
    this.#fault = fault;
    server.gateway = (request, response, handle) =>
      void setTimeout(() => this.#take(request, response, handle), LATENCY_MS);
  }

  #take(request: IncomingMessage, response: ServerResponse, handle: HandleRequest): void {
    const { method = "", url = "" } = request;
    const path = url.replace(/(?<=.)\/$/, "");
    if (this.#taskEnd && (path === MONITOR || path === TASK)) {
      drain(request, () => this.#sendTask(response, path));
      return;
    }
    const at = this.methods.push(method);
    this.requests.push(`${method} ${path}`);
    const move = this.#fault && at >= this.#fault.at ? MOVES[this.#fault.name] : undefined;
    if (move) {
      if (at === this.#fault?.at) this.hit = `${method} ${path}`;
      handMoved(move, request, response, handle, (status) =>
        this.#note(method, movedPath(move, path), status),
      );
      return;
    }
    if (at !== this.#fault?.at) {
      response.once("finish", () => this.#note(method, path, response.statusCode));
      handle(request, response);
      return;
    }
    this.hit = `${method} ${path}`;
    const { name } = this.#fault;
    const isAfter = name.endsWith("-after") || name === "half";
    const kind = name.replace(/-(before|after)$/, "");
    if (kind in TASK_ENDS) this.#taskEnd = kind as TaskEnd;
    const answer = (own?: HeldAnswer) => this.#answer(request, response, kind, own);
    if (isAfter) {
      holdAnswer(request, handle, (own) => {
        this.#note(method, path, own?.status);
        answer(own);
      });
    } else {
      this.#note(method, path, undefined);
      drain(request, () => answer());
    }
  }

  #note(method: string, path: string, status: number | undefined): void {
    if (!this.#words.readsOnly(method)) this.writes.push({ method, path, status });
  }

  #answer(request: IncomingMessage, response: ServerResponse, kind: string, own?: HeldAnswer): void {
    if (kind === "lost") {
      response.destroy();
      return;
    }
    if (kind === "half") {
      const { status = 200, headers = {}, body = "{}" } = own ?? {};
      const text = body.length > 1 ? body : `{"@odata.id":"${request.url}"}`;
      response.writeHead(status === 204 ? 200 : status, {
        ...withoutLength(headers),
        ...JSON_TYPE,
        "Content-Length": Buffer.byteLength(text),
      });
      response.write(text.slice(0, Math.floor(text.length / 2)), () => response.destroy());
      return;
    }
    const { status, headers, body = "" } = this.#wrong(kind, request.url ?? "");
    response.writeHead(status, { "Content-Length": Buffer.byteLength(body), ...headers });
    response.end(body);
  }

  #wrong(kind: string, path: string): FaultyAnswer {
    switch (kind) {
      case "502":
      case "503":
      case "504":
        return {
          status: Number(kind),
          headers: { "Content-Type": "text/html" },
          ...(kind === "503" ? {} : { body: "<html><head><title>Bad Gateway</title></head></html>" }),
        };
      case "empty":
        return { status: 200 };
      case "object":
        return { status: 200, headers: JSON_TYPE, body: "{}" };
      case "error-object":
        return { status: 200, headers: JSON_TYPE, body: this.#words.errorObject };
      case "redirect":
        return { status: 308, headers: { Location: `${path}/` } };
      default:
        if (this.#taskEnd) {
          return {
            status: 202,
            headers: { ...JSON_TYPE, Location: MONITOR },
            body: this.#task("task-endless"),
          };
        }
        return {
          status: Number(kind),
          headers: { ...JSON_TYPE, ...(kind === "401" ? { "WWW-Authenticate": 'Basic realm="BMC"' } : {}) },
          body: this.#words.refusal?.(Number(kind)) ?? this.#words.errorObject,
        };
    }
  }

  #sendTask(response: ServerResponse, path: string): void {
    const end = this.#taskEnd ?? "task-endless";
    const isRunning = end === "task-endless" && path === MONITOR;
    response.writeHead(isRunning ? 202 : 200, JSON_TYPE);
    response.end(this.#task(end));
  }

  #task(end: TaskEnd): string {
    const named = { "@odata.id": TASK, "@odata.type": "#Task.v1_4_3.Task", Id: "matrix", Name: "Task" };
    return JSON.stringify({ ...named, ...TASK_ENDS[end], TaskMonitor: MONITOR });
  }
}
