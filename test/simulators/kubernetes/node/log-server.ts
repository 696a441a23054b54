import type { IncomingMessage, ServerResponse } from "node:http";
import { WebServer } from "../../web-server.ts";
import type { ContainerLog, LogRange } from "./container-log.ts";
import type { Place } from "./paths.ts";

/** A log, or why there is none, in the kubelet's words with its status. */
export type FoundLog = ContainerLog | { readonly status: number; readonly message: string };

export interface LogRequest extends Place {
  readonly container: string;
  readonly previous: boolean;
}

/** The part of the kubelet's own HTTPS server that the API server fetches logs from. */
export class LogServer extends WebServer {
  readonly #find: (request: LogRequest) => Promise<FoundLog>;

  constructor(find: (request: LogRequest) => Promise<FoundLog>) {
    super(undefined, (request, response) => void this.#answer(request, response));
    this.#find = find;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const url = new URL(request.url ?? "/", "https://node");
      const [, root, namespace = "", name = "", container = ""] = url.pathname.split("/");
      if (root !== "containerLogs") {
        response.writeHead(404).end();
        return;
      }
      const previous = url.searchParams.get("previous") === "true";
      const log = await this.#find({ namespace, name, container, previous });
      if ("status" in log) response.writeHead(log.status, { "Content-Type": "text/plain" }).end(log.message);
      else sendLog(response, log, url.searchParams);
    } catch {
      response.destroy();
    }
  }
}

function sendLog(response: ServerResponse, log: ContainerLog, query: URLSearchParams): void {
  const range = rangeOf(query);
  let left = range.limitBytes ?? Number.POSITIVE_INFINITY;
  let stop: () => void = () => undefined;
  const send = (line: string) => {
    const bytes = Buffer.from(line).subarray(0, left);
    left -= bytes.length;
    response.write(bytes);
    if (left > 0) return;
    stop();
    response.end();
  };
  response.writeHead(200, { "Content-Type": "text/plain" });
  response.flushHeaders();
  for (const line of log.read(range)) if (left > 0) send(line);
  if (left <= 0) return;
  if (query.get("follow") !== "true" || log.ended) {
    response.end();
    return;
  }
  stop = log.follow(range.timestamps, send, () => response.end());
  response.once("close", () => stop());
}

function rangeOf(query: URLSearchParams): LogRange {
  const [tail, limit, seconds, time] = ["tailLines", "limitBytes", "sinceSeconds", "sinceTime"].map((name) =>
    query.get(name),
  );
  return {
    timestamps: query.get("timestamps") === "true",
    ...(tail ? { tailLines: Number(tail) } : {}),
    ...(limit ? { limitBytes: Number(limit) } : {}),
    ...(seconds ? { sinceMs: Date.now() - Number(seconds) * 1_000 } : {}),
    ...(time ? { sinceMs: Date.parse(time) } : {}),
  };
}
