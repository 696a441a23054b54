import type { Clock } from "../../../clock.ts";
import type { RpcOptions } from "../../../contract/connection.ts";
import type { HttpConnection } from "../../http/http-connection.ts";
import { effectOfPower, type WriteEffect } from "../../operations/write-proof.ts";
import { type RpcCall, type RpcResponse, readResponse, refusalOf, requestBody } from "./request-body.ts";
import { headerNames, signatureHeaders } from "./signature.ts";
import { formatTimestamp } from "./timestamp.ts";

/** The webhook that replaces a machine's BMC, with one signed request per call. */
export type RpcConsumer = ReturnType<typeof rpcConsumer>;

interface ConsumerOptions {
  /** The consumer's name of the machine. */
  readonly host: string;
  readonly clock: Clock;
  /** Called for every change that the consumer accepts. */
  readonly onAccepted: (() => void) | undefined;
}

export function rpcConsumer(
  http: HttpConnection,
  options: RpcOptions,
  { host, clock, onAccepted }: ConsumerOptions,
) {
  const { method, embed, signature, headers: given, contentType, timestampFormat } = options;
  const names = headerNames(options);
  const { pathname, search } = new URL(options.url);
  let calls = 0n;

  async function send(
    call: RpcCall,
    effect: WriteEffect | undefined,
    signal: AbortSignal,
  ): Promise<RpcResponse> {
    const nowMs = clock.now();
    const id = BigInt(Math.trunc(nowMs)) * 1_000_000n + calls++;
    const body = requestBody(call, id, host, embed);
    const plain = headersAt(nowMs);
    const headers = { ...plain, ...signatureHeaders(signature, names, body, plain) };
    const request = {
      method,
      path: pathname + search,
      headers,
      body,
      doing: call.method,
      isWrite: effect !== undefined,
    };
    const answer = await http.send(request, signal);
    return readResponse({ answer, doing: call.method, effect, nowMs: clock.now() });
  }

  /** The headers of a request. Later ones replace earlier ones with the same name. */
  function headersAt(nowMs: number): Readonly<Record<string, string>> {
    const fixed = Object.entries(given).map(([name, values]) => {
      return [name, values.map((value) => value.reveal()).join(",")] as const;
    });
    const all = [
      ...fixed,
      ["Content-Type", contentType] as const,
      [names.timestamp, formatTimestamp(timestampFormat, nowMs)] as const,
    ];
    return Object.fromEntries(new Map(all.map((header) => [header[0].toLowerCase(), header])).values());
  }

  async function accepted(
    call: RpcCall,
    effect: WriteEffect | undefined,
    signal: AbortSignal,
  ): Promise<unknown> {
    const response = await send(call, effect, signal);
    const refusal = refusalOf(response, call.method, effect);
    if (refusal) throw refusal;
    return response.result;
  }

  return {
    /** Checks that the consumer answers in the right format. Its answer to the ping does not matter. */
    async ping(signal: AbortSignal): Promise<void> {
      await send({ method: "ping" }, undefined, signal);
    },
    /** The result of a call that changes nothing. */
    read: (call: RpcCall, signal: AbortSignal) => accepted(call, undefined, signal),
    /** Resolves when the consumer accepted a call that changes something. */
    async write(call: RpcCall, signal: AbortSignal): Promise<void> {
      await accepted(call, effectOf(call), signal);
      onAccepted?.();
    },
  };
}

function effectOf(call: RpcCall): WriteEffect {
  return call.method === "setPowerState" ? effectOfPower(call.params.state) : "setting";
}
