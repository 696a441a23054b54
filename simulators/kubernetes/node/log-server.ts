import type { ServerResponse } from "node:http";
import { WebServer } from "../../web-server.ts";
import type { ContainerLog } from "./container-log.ts";

/** A log, or the reason and status with which the kubelet refuses it. */
export type FoundLog = ContainerLog | { readonly status: number; readonly message: string };

export interface LogRequest {
  readonly namespace: string;
  readonly name: string;
  readonly container: string;
}

/** The part of a kubelet's HTTPS server from which the API server fetches logs. */
export class LogServer extends WebServer {
  constructor(find: (request: LogRequest) => Promise<FoundLog>) {
    super(undefined, async (request, response) => {
      try {
        const url = new URL(request.url ?? "/", "https://node");
        const [, , namespace = "", name = "", container = ""] = url.pathname.split("/");
        const log = await find({ namespace, name, container });
        if ("status" in log) response.writeHead(log.status).end(log.message);
        else sendLog(response, log, url.searchParams);
      } catch {
        response.destroy();
      }
    });
  }
}

function sendLog(response: ServerResponse, log: ContainerLog, query: URLSearchParams): void {
  const [tailLines, sinceTime] = [query.get("tailLines"), query.get("sinceTime")];
  const withTimes = query.get("timestamps") === "true";
  let remainingBytes = Number(query.get("limitBytes") ?? Number.POSITIVE_INFINITY);
  const send = ({ at, line }: ContainerLog["entries"][number]) => {
    const time = withTimes ? `${new Date(at).toISOString().slice(0, -1)}000000Z ` : "";
    const bytes = Buffer.from(`${time}${line}`).subarray(0, remainingBytes);
    remainingBytes -= bytes.length;
    response.write(bytes);
  };
  response.writeHead(200, { "Content-Type": "text/plain" });
  response.flushHeaders();
  const since = log.entries.filter(({ at }) => sinceTime === null || at >= Date.parse(sinceTime));
  for (const entry of tailLines === null ? since : since.slice(-Number(tailLines))) send(entry);
  if (query.get("follow") !== "true" || log.ended) {
    response.end();
    return;
  }
  log.on("entry", send);
  log.once("end", () => response.end());
  response.once("close", () => log.off("entry", send));
}
