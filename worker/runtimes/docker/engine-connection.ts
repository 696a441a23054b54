import { type ClientRequest, request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { isIP } from "node:net";
import type { Duplex } from "node:stream";
import { type Dispatcher, Pool } from "undici";
import { z } from "zod";
import { defined } from "../../../shared/defined.ts";
import { INPUT_BYTES } from "../../../shared/input-limits.ts";
import { TimeoutReached, withTimeout } from "../../../shared/timeout.ts";
import {
  DEFAULT_SOCKET,
  type EngineAddress,
  type RemoteEngine,
  showEngineAddress,
} from "./engine-address.ts";
import { EngineError } from "./engine-error.ts";

/**
 * The API version this client was written for (Docker 20.10). An engine that has dropped it is used with its oldest
 * version.
 */
const WRITTEN_FOR = "1.41";
/** Docker 19.03, the oldest that has everything this client uses. */
const OLDEST_USABLE = "1.40";
const LONGEST_ANSWER_BYTES = INPUT_BYTES.engineAnswer;

const EngineVersion = z.object({
  Version: z.string().optional(),
  ApiVersion: z.string().regex(/^\d+\.\d+$/),
  MinAPIVersion: z.string().optional(),
});
export type EngineVersion = z.infer<typeof EngineVersion>;
const ErrorMessage = z.object({ message: z.string() });

/** Receives a chunk. The next one is read when the promise resolves. */
export type OnChunk = (chunk: Uint8Array) => void | Promise<void>;

export interface EngineConnectionOptions {
  /** Default: `DEFAULT_SOCKET`. */
  readonly socketPath?: string | undefined;
  /** Replaces the socket. */
  readonly remote?: RemoteEngine | undefined;
  /** The timeout of an ordinary response. Waiting, pulling and following logs have their own limits. */
  readonly requestTimeoutMs?: number;
}

export interface EngineRequest {
  readonly method: "GET" | "POST" | "DELETE";
  /** The path with the query, but without the version prefix. */
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly doing: string;
}

/**
 * HTTP to a container engine's socket or port: negotiates the version and limits time and size. Rejects with an
 * `EngineError`, or with the signal's reason once that aborted.
 */
export class EngineConnection {
  /** The engine's path or URL, for messages. */
  readonly place: string;
  readonly requestTimeoutMs: number;
  readonly #address: EngineAddress;
  readonly #pool: Pool;
  #version: string | undefined;

  constructor({ socketPath = DEFAULT_SOCKET, remote, requestTimeoutMs = 30_000 }: EngineConnectionOptions) {
    this.#address = remote ? { remote } : { socketPath };
    this.place = showEngineAddress(this.#address);
    this.requestTimeoutMs = requestTimeoutMs;
    // Unlimited, because each wait for a container holds a connection while it runs.
    this.#pool = new Pool(originOf(this.#address), {
      connect: { ...connectOptions(this.#address), timeout: requestTimeoutMs },
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  async ask(request: EngineRequest, signal: AbortSignal, timeoutMs = this.requestTimeoutMs): Promise<string> {
    const version = await this.#negotiatedVersion(signal);
    return this.#bounded(request.doing, signal, timeoutMs, (bound) =>
      this.#exchange(version, request, bound),
    );
  }

  /** Passes on the response as it arrives, until `signal` aborts. */
  async stream(request: EngineRequest, onChunk: OnChunk, signal: AbortSignal): Promise<void> {
    const version = await this.#negotiatedVersion(signal);
    const answer = await this.#send(version, request, signal);
    await this.#read(answer.body, request.doing, onChunk, signal);
  }

  /**
   * Opens a raw connection to a container, which the caller owns. Podman prepares the container here and may refuse with a
   * status and a reason, like in any other call.
   */
  async upgrade(path: string, doing: string, signal: AbortSignal): Promise<Duplex> {
    const version = await this.#negotiatedVersion(signal);
    return this.#bounded(doing, signal, this.requestTimeoutMs, async (bound) => {
      const asked = this.#requestUpgrade(`/v${version}${path}`);
      // The request is destroyed when `bound` aborts, whatever it waits for.
      const end = () => asked.destroy();
      bound.addEventListener("abort", end, { once: true });
      try {
        const answer = await upgraded(asked);
        if (!("response" in answer)) return answer.socket;
        const { response } = answer;
        const text = await this.#collect(response, doing, bound);
        throw EngineError.ofStatus(response.statusCode ?? 0, messageIn(text), doing);
      } finally {
        bound.removeEventListener("abort", end);
      }
    });
  }

  /** Requests an upgrade. The connection leaves HTTP, so it cannot be in the pool. */
  #requestUpgrade(path: string): ClientRequest {
    const common = { method: "POST", path, agent: false, headers: { connection: "Upgrade", upgrade: "tcp" } };
    const { remote, socketPath } = this.#address;
    if (!remote) return httpRequest({ ...common, socketPath, host: "localhost" });
    const to = { ...common, host: remote.host, port: remote.port };
    return remote.tls ? httpsRequest({ ...to, ...connectOptions(this.#address) }) : httpRequest(to);
  }

  async describe(signal: AbortSignal): Promise<EngineVersion> {
    const doing = "asking the engine's version";
    const text = await this.#bounded(doing, signal, this.requestTimeoutMs, (bound) =>
      this.#exchange(undefined, { method: "GET", path: "/version", doing }, bound),
    );
    return parseAnswer(EngineVersion, text, doing);
  }

  async close(): Promise<void> {
    await this.#pool.destroy();
  }

  async #negotiatedVersion(signal: AbortSignal): Promise<string> {
    if (this.#version) return this.#version;
    const { ApiVersion, MinAPIVersion } = await this.describe(signal);
    this.#version = negotiateVersion(ApiVersion, MinAPIVersion);
    return this.#version;
  }

  async #exchange(version: string | undefined, request: EngineRequest, signal: AbortSignal): Promise<string> {
    return this.#text(await this.#send(version, request, signal), request.doing, signal);
  }

  async #send(
    version: string | undefined,
    { method, path, body, headers, doing }: EngineRequest,
    signal: AbortSignal,
  ): Promise<Dispatcher.ResponseData> {
    let answer: Dispatcher.ResponseData;
    try {
      answer = await this.#pool.request({
        method,
        path: version === undefined ? path : `/v${version}${path}`,
        headers: { ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
        ...defined({ body: body === undefined ? undefined : JSON.stringify(body) }),
        signal,
      });
    } catch (thrown) {
      signal.throwIfAborted();
      throw EngineError.ofConnection(thrown, this.place, doing);
    }
    // 304: already in the requested state.
    if (answer.statusCode < 300 || answer.statusCode === 304) return answer;
    throw EngineError.ofStatus(answer.statusCode, messageIn(await this.#text(answer, doing, signal)), doing);
  }

  #text({ body }: Dispatcher.ResponseData, doing: string, signal: AbortSignal): Promise<string> {
    return this.#collect(body, doing, signal);
  }

  async #collect(body: AsyncIterable<Uint8Array>, doing: string, signal: AbortSignal): Promise<string> {
    const chunks: Uint8Array[] = [];
    let size = 0;
    const collect = (chunk: Uint8Array) => {
      size += chunk.length;
      if (size > LONGEST_ANSWER_BYTES) throw new EngineError("protocol", `${doing}: the answer is too long`);
      chunks.push(chunk);
    };
    await this.#read(body, doing, collect, signal);
    return Buffer.concat(chunks).toString("utf8");
  }

  async #read(
    body: AsyncIterable<Uint8Array>,
    doing: string,
    onChunk: OnChunk,
    signal: AbortSignal,
  ): Promise<void> {
    try {
      for await (const chunk of body) await onChunk(chunk);
    } catch (thrown) {
      signal.throwIfAborted();
      if (thrown instanceof EngineError) throw thrown;
      throw EngineError.ofConnection(thrown, this.place, doing);
    }
  }

  async #bounded<T>(
    doing: string,
    signal: AbortSignal,
    timeoutMs: number,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    try {
      return await withTimeout(timeoutMs, signal, work);
    } catch (thrown) {
      signal.throwIfAborted();
      if (thrown instanceof EngineError) throw thrown;
      if (thrown instanceof TimeoutReached) {
        const text = `${doing}: the engine at ${this.place} gave no answer within ${timeoutMs} ms`;
        throw new EngineError("unreachable", text, { cause: thrown });
      }
      throw EngineError.ofConnection(thrown, this.place, doing);
    }
  }
}

function originOf({ remote }: EngineAddress): string {
  if (!remote) return "http://localhost";
  const host = isIP(remote.host) === 6 ? `[${remote.host}]` : remote.host;
  return `${remote.tls ? "https" : "http"}://${host}:${remote.port}`;
}

function connectOptions({ socketPath, remote }: EngineAddress) {
  if (!remote) return { socketPath };
  if (!remote.tls) return {};
  const { ca, certificate: cert, key } = remote.tls;
  return { ca, cert, key: key.reveal() };
}

type Upgraded = { readonly socket: Duplex } | { readonly response: IncomingMessage };

function upgraded(asked: ClientRequest): Promise<Upgraded> {
  return new Promise((resolve, reject) => {
    asked.on("error", reject);
    asked.on("response", (response) => resolve({ response }));
    asked.on("upgrade", (_, socket, head) => {
      // Prevents an unhandled error; the reader sees the end.
      socket.on("error", () => undefined);
      // Data that arrived together with the answer's headers.
      if (head.length > 0) socket.unshift(head);
      resolve({ socket });
    });
    asked.end();
  });
}

/** Parses a response; rejects with an `EngineError` of class `protocol`. */
export function parseAnswer<T>(schema: z.ZodType<T>, text: string, doing: string): T {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (thrown) {
    throw new EngineError("protocol", `${doing}: the engine's answer is not JSON`, { cause: thrown });
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const problem = `${doing}: the engine's answer is invalid: ${z.prettifyError(parsed.error)}`;
  throw new EngineError("protocol", problem, { cause: parsed.error });
}

/** `WRITTEN_FOR`, moved into the engine's range. */
export function negotiateVersion(newest: string, oldest = "1.0"): string {
  if (compareVersions(newest, OLDEST_USABLE) < 0) {
    throw new EngineError("unsupported", `the engine speaks API ${newest}, ${OLDEST_USABLE} is needed`);
  }
  if (compareVersions(oldest, WRITTEN_FOR) > 0) return oldest;
  return compareVersions(newest, WRITTEN_FOR) < 0 ? newest : WRITTEN_FOR;
}

/** Compares versions, which are two numbers: 1.9 is older than 1.41. */
function compareVersions(left: string, right: string): number {
  return left.localeCompare(right, "en", { numeric: true });
}

function messageIn(text: string): string {
  try {
    const parsed = ErrorMessage.safeParse(JSON.parse(text));
    return parsed.success ? parsed.data.message : text.trim();
  } catch {
    return text.trim();
  }
}
