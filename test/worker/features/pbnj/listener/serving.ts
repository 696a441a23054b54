import { createSecretKey } from "node:crypto";
import { once } from "node:events";
import { request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { request as httpsRequest } from "node:https";
import { Code, ConnectError } from "@connectrpc/connect";
import { createGrpcTransport, type GrpcTransportOptions } from "@connectrpc/connect-node";
import { type JWTPayload, SignJWT } from "jose";
import { systemClock } from "../../../../../shared/clock.ts";
import { type Logger, silentLogger } from "../../../../../shared/logger.ts";
import { Secret } from "../../../../../shared/secret.ts";
import type { Certificate } from "../../../../../simulators/certificate.ts";
import { createCertificate } from "../../../../../simulators/certificate.ts";
import type { WatchedFileName } from "../../../../../worker/config/reload.ts";
import { Machine } from "../../../../../worker/features/pbnj/api/gen/machine_pb.ts";
import { CALLER } from "../../../../../worker/features/pbnj/caller.ts";
import { ApiAccess } from "../../../../../worker/features/pbnj/listener/api-access.ts";
import { type ListenOptions, listen } from "../../../../../worker/features/pbnj/listener/listen.ts";
import type { ApiFiles } from "../../../../../worker/features/pbnj/pbnj-settings.ts";

const authority = createCertificate({ commonName: "clients", authority: true });
export const client = createCertificate({ commonName: "alice", issuer: authority });
export const stranger = createCertificate({ commonName: "stranger" });
export const server = createCertificate({ commonName: "worker", altNames: ["127.0.0.1"] });

export const SECRET = "0123456789abcdef0123456789abcdef";
export const OTHER_SECRET = "fedcba9876543210fedcba9876543210";

export const jwt: ApiFiles = { jwtSecret: { path: "jwt", text: new Secret(SECRET) } };
export const tls: ApiFiles = {
  certificate: { path: "tls.crt", text: server.cert },
  key: { path: "tls.key", text: new Secret(server.key) },
};
export const clientCa: ApiFiles = { ca: { path: "ca.crt", text: authority.cert } };

export const POWER = "/github.com.tinkerbell.pbnj.api.v1.Machine/Power";
export const ON = '{"powerAction":"POWER_ACTION_ON"}';

/** A token that is valid for a minute. */
export const token = (claims: JWTPayload = {}, secret = SECRET) =>
  new SignJWT(claims)
    .setProtectedHeader({ alg: "HS256" })
    .setExpirationTime("1m")
    .sign(createSecretKey(Buffer.from(secret)));

export interface ServingOptions extends Partial<Omit<ListenOptions, "access">> {
  readonly files?: ApiFiles;
}

/** A listener whose `Power` answers who calls, and whether it may use node1. Other power actions fail or never end. */
export async function serving({ files = {}, log = silentLogger, ...options }: ServingOptions = {}) {
  const onDisk = new Map<string, string>();
  const readFile = (path: string) => onDisk.get(path) ?? "";
  const access = new ApiAccess({ files, clock: systemClock, readFile });
  const ended: string[] = [];
  const listener = await listen({
    address: { host: "127.0.0.1", port: 0 },
    services: [Machine],
    routes: (router) =>
      router.service(Machine, {
        power({ powerAction }, { values, signal }) {
          if (powerAction === 5) throw new Error("secret reason");
          if (powerAction === 4) {
            return new Promise((_, reject) =>
              signal.addEventListener("abort", () => {
                ended.push("aborted");
                reject(signal.reason);
              }),
            );
          }
          const { name, mayUse } = values.get(CALLER);
          return { taskId: `${name ?? "anyone"} ${mayUse("node1") ? "may" : "may not"}` };
        },
        bootDevice() {
          throw new ConnectError("no such machine", Code.NotFound);
        },
      }),
    isServing: () => true,
    access,
    allowUnauthenticated: false,
    log,
    clock: systemClock,
    ...options,
  });
  return {
    ...listener,
    ended,
    grpc: (more: Partial<GrpcTransportOptions> = {}) =>
      createGrpcTransport({
        baseUrl: listener.url,
        ...more,
        nodeOptions: { ca: server.cert, ...more.nodeOptions },
      }),
    post: (path: string, body: string, more: PostOptions = {}) => post(`${listener.url}${path}`, body, more),
    /** Changes a file and reloads it, like the worker. */
    change(name: WatchedFileName, text: string) {
      const file = access.watchedFiles().find((watched) => watched.name === name);
      if (!file) throw new Error(`${name} is not watched`);
      onDisk.set(file.path, text);
      return file.take(text);
    },
    [Symbol.asyncDispose]: listener[Symbol.asyncDispose],
  };
}

export interface PostOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly client?: Certificate;
}

interface Answer {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** One HTTP/1.1 request, as curl sends it, over a connection of its own. */
async function post(url: string, body: string, { headers, client }: PostOptions): Promise<Answer> {
  const request = (url.startsWith("https:") ? httpsRequest : httpRequest)(url, {
    method: "POST",
    agent: false,
    headers: { "content-type": "application/json", ...headers },
    ca: server.cert,
    ...client,
  });
  request.end(body);
  const [response] = await once(request, "response");
  let text = "";
  for await (const part of response.setEncoding("utf8")) text += part;
  return { status: response.statusCode, headers: response.headers, text };
}

/** A logger that keeps what is logged. */
export function keepingLogger() {
  const lines: string[] = [];
  const keep = (level: string) => (fields: object, message: string) =>
    void lines.push(`${level}: ${message} ${JSON.stringify(fields)}`);
  const [debug, info, warn, error] = [keep("debug"), keep("info"), keep("warn"), keep("error")];
  return { lines, log: { debug, info, warn, error } satisfies Logger };
}
