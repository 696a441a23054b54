import { BmcError } from "../../../contract/bmc-error.ts";
import type { RpcOptions } from "../../../contract/connection.ts";

declare global {
  interface JSON {
    /** ECMAScript 2026 (JSON.parse source text access): a value that is written as the text it is given. */
    rawJSON(text: string): object;
  }
}

/** One call of the consumer, without its ID and host. */
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

/** A request's body: the call alone or, where the options say so, inside the payload that they give. */
export function requestBody(call: RpcCall, id: bigint, host: string, embed: RpcOptions["embed"]): string {
  // The ID counts nanoseconds, which are beyond the whole numbers that JavaScript writes.
  const request = { id: JSON.rawJSON(String(id)), host, ...call };
  if (!embed) return JSON.stringify(request);
  return JSON.stringify(placed(embed.payload, embed.path.split("."), request));
}

/** A copy of `into` with `value` at the path; what is missing on the way is made. */
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
