import * as z from "zod/mini";
import { jsonIn } from "../../http/json-in.ts";
import type { IronicRequest } from "./api.ts";

/** Ironic's own errors are JSON in a string of JSON; its middleware and HTTP basic answer plainer ones. */
const Envelope = z.object({ error_message: z.union([z.string(), z.object({ faultstring: z.string() })]) });
const Fault = z.object({ faultstring: z.string() });

/** What an answer with a status of success says that is an error all the same; empty if it is none. */
export function denialOf(text: string): string {
  return Envelope.safeParse(jsonIn(text)).success ? faultOf(text) : "";
}

/** What an error answer says, in one line; empty if it says nothing that can be read. */
export function faultOf(text: string): string {
  const body = jsonIn(text);
  const envelope = Envelope.safeParse(body);
  const inner = envelope.success ? envelope.data.error_message : body;
  const fault = Fault.safeParse(typeof inner === "string" ? jsonIn(inner) : inner);
  if (fault.success) return fault.data.faultstring;
  return typeof inner === "string" ? inner : "";
}

/** For people: `PUT /v1/nodes/node-1/states/power {"target":"power on"}`. */
export function describeRequest({ method, path, query, body }: IronicRequest): string {
  const whole = `${method} /v1${path}${query === undefined ? "" : `?${query}`}`;
  return body === undefined ? whole : `${whole} ${JSON.stringify(body)}`;
}
