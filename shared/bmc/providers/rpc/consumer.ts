import type { Clock } from "../../../clock.ts";
import type { RpcOptions } from "../../../contract/connection.ts";
import type { HttpConnection } from "../../http/http-connection.ts";
import { type RpcCall, type RpcResponse, readResponse, refusalOf, requestBody } from "./request-body.ts";
import { type HeaderNames, headerNames, signatureHeaders } from "./signature.ts";
import { formatTimestamp } from "./timestamp.ts";

/** The webhook in place of a machine's BMC: one signed request per call. */
export class RpcConsumer {
  readonly #http: HttpConnection;
  readonly #options: RpcOptions;
  readonly #names: HeaderNames;
  readonly #path: string;
  readonly #host: string;
  readonly #clock: Clock;
  #calls = 0n;

  /** `host` is how the consumer knows the machine. */
  constructor(http: HttpConnection, options: RpcOptions, host: string, clock: Clock) {
    this.#http = http;
    this.#options = options;
    this.#names = headerNames(options);
    const { pathname, search } = new URL(options.url);
    this.#path = pathname + search;
    this.#host = host;
    this.#clock = clock;
  }

  /** Sees that the consumer answers as one; what it says about the ping itself does not matter. */
  async ping(signal: AbortSignal): Promise<void> {
    await this.#send({ method: "ping" }, false, signal);
  }

  /** The result of a call that changes nothing. */
  async ask(call: RpcCall, signal: AbortSignal): Promise<unknown> {
    return this.#accepted(call, await this.#send(call, false, signal));
  }

  /** Resolves when the consumer accepted a call that changes something. */
  async tell(call: RpcCall, signal: AbortSignal): Promise<void> {
    this.#accepted(call, await this.#send(call, true, signal));
  }

  #accepted(call: RpcCall, response: RpcResponse): unknown {
    const refusal = refusalOf(response, call.method);
    if (refusal) throw refusal;
    return response.result;
  }

  async #send(call: RpcCall, isWrite: boolean, signal: AbortSignal): Promise<RpcResponse> {
    const { method, embed, signature } = this.#options;
    const nowMs = this.#clock.now();
    const id = BigInt(Math.trunc(nowMs)) * 1_000_000n + this.#calls++;
    const body = requestBody(call, id, this.#host, embed);
    const headers = this.#headers(nowMs);
    const signatures = signatureHeaders(signature, this.#names, body, headers);
    const answer = await this.#http.send(
      {
        method,
        path: this.#path,
        headers: { ...headers, ...signatures },
        body,
        doing: call.method,
        isWrite,
      },
      signal,
    );
    return readResponse({ answer, doing: call.method, isWrite, nowMs: this.#clock.now() });
  }

  /** Later ones replace earlier ones of the same name. */
  #headers(nowMs: number): Readonly<Record<string, string>> {
    const { headers, contentType, timestampFormat } = this.#options;
    const fixed = Object.entries(headers).map(([name, values]) => {
      return [name, values.map((value) => value.reveal()).join(",")] as const;
    });
    const all = [
      ...fixed,
      ["Content-Type", contentType] as const,
      [this.#names.timestamp, formatTimestamp(timestampFormat, nowMs)] as const,
    ];
    return Object.fromEntries(new Map(all.map((header) => [header[0].toLowerCase(), header])).values());
  }
}
