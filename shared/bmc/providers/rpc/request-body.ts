import * as z from "zod/mini";
import { BmcError } from "../../../contract/bmc-error.ts";
import type { RpcOptions } from "../../../contract/connection.ts";
import type { HttpAnswer } from "../../http/http-connection.ts";
import { statusError } from "../../http/status-error.ts";
import { leavesOpen, type WriteEffect } from "../../operations/write-proof.ts";

declare global {
  interface JSON {
    /** ECMAScript 2026 (JSON.parse source text access): a value that is written exactly as the given text. */
    rawJSON(text: string): object;
  }
}

/** One call to the consumer, without its ID and host. */
export type RpcCall =
  | { readonly method: "ping" }
  | { readonly method: "getPowerState" }
  | { readonly method: "setPowerState"; readonly params: { readonly state: string } }
  | {
      readonly method: "setBootDevice";
      readonly params: { readonly device: string; readonly persistent: boolean; readonly efiBoot: boolean };
    }
  | {
      readonly method: "setVirtualMedia";
      readonly params: { readonly mediaUrl: string; readonly kind: string };
    };

/** The body of a request: the call itself or, if the options say so, the given payload around it. */
export function requestBody(call: RpcCall, id: bigint, host: string, embed: RpcOptions["embed"]): string {
  // The ID counts nanoseconds, which exceed JavaScript's exact whole numbers.
  const request = { id: JSON.rawJSON(String(id)), host, ...call };
  if (!embed) return JSON.stringify(request);
  return JSON.stringify(placed(embed.payload, embed.path.split("."), request));
}

/** A copy of `into` with `value` at the path. Missing parts of the path are created. */
function placed(into: unknown, [key, ...rest]: readonly string[], value: unknown): unknown {
  if (key === undefined) return value;
  if (Array.isArray(into)) {
    if (!(key in into) || !/^\d+$/.test(key)) {
      throw new BmcError("usage", `rpc.embed.path: the payload's list has no item ${key}`);
    }
    return into.with(Number(key), placed(into[Number(key)], rest, value));
  }
  if (into !== undefined && (typeof into !== "object" || into === null)) {
    throw new BmcError("usage", `rpc.embed.path: the payload has no object to put ${key} into`);
  }
  const fields = new Map(Object.entries(into ?? {}));
  return Object.fromEntries([...fields, [key, placed(fields.get(key), rest, value)]]);
}

/** bmclib sends both fields; other consumers send only words, or the code as text. */
const RpcError = z.union([
  z.object({
    code: z.optional(z.union([z.number(), z.string()])),
    message: z.optional(z.string()),
  }),
  z.pipe(
    z.string(),
    z.transform((message: string) => ({ code: undefined, message })),
  ),
]);

/** An answer of a consumer. Its ID and host are not compared with the request's; other clients do not compare them either. */
export const RpcResponse = z.object({
  result: z.optional(z.unknown()),
  error: z.nullish(RpcError),
});
export type RpcResponse = z.infer<typeof RpcResponse>;

interface Exchange {
  readonly answer: HttpAnswer;
  /** What the call does, for messages. */
  readonly doing: string;
  /** The effect of a write; undefined for a read. */
  readonly effect: WriteEffect | undefined;
  readonly nowMs: number;
}

/** Reads an answer; `refusalOf` handles its `error`. Throws for any status but 200 and for any other format. */
export function readResponse({ answer, doing, effect, nowMs }: Exchange): RpcResponse {
  const text = answer.body.toString("utf8");
  const parsed = parse(text);
  if (answer.status !== 200) {
    throw statusError(answer, doing, parsed.ok ? describeError(parsed.response) : "", { effect, nowMs });
  }
  if (parsed.ok) return parsed.response;
  throw new BmcError("protocol", `${doing} answered 200 with ${parsed.problem}`, {
    uncertain: effect !== undefined,
  });
}

/** The consumer's refusal, if it is one: a code other than 0, or words without a code. */
export function refusalOf(
  response: RpcResponse,
  doing: string,
  effect: WriteEffect | undefined,
): BmcError | undefined {
  const { code, message = "" } = response.error ?? {};
  const isRefusal = code === undefined || code === "" ? message.trim() !== "" : Number(code) !== 0;
  if (!isRefusal) return undefined;
  return new BmcError("bmc", `${doing}: the consumer refused: ${describeError(response)}`, {
    uncertain: leavesOpen("webhook", "error", effect),
  });
}

function parse(text: string): { ok: true; response: RpcResponse } | { ok: false; problem: string } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { ok: false, problem: text === "" ? "no body" : "a body that is not JSON" };
  }
  const parsed = RpcResponse.safeParse(value);
  if (parsed.success) return { ok: true, response: parsed.data };
  return { ok: false, problem: "JSON without id, host, result and error" };
}

function describeError({ error }: RpcResponse): string {
  if (!error) return "";
  const { code, message } = error;
  return [message, code === undefined || code === "" ? "" : `(code ${code})`].filter(Boolean).join(" ");
}
