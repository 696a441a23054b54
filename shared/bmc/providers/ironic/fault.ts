import * as z from "zod/mini";
import { jsonIn } from "../../http/json-in.ts";

/** Ironic's own errors are JSON in a string of JSON. Its middleware and HTTP basic authentication answer plainer ones. */
const Envelope = z.object({ error_message: z.union([z.string(), z.object({ faultstring: z.string() })]) });
const Fault = z.object({ faultstring: z.string() });

/** The error in an answer with a status of success; empty if there is none. */
export function denialOf(text: string): string {
  return Envelope.safeParse(jsonIn(text)).success ? faultOf(text) : "";
}

/** The message of an error answer in one line; empty if it contains none that can be read. */
export function faultOf(text: string): string {
  const body = jsonIn(text);
  const envelope = Envelope.safeParse(body);
  const inner = envelope.success ? envelope.data.error_message : body;
  const fault = Fault.safeParse(typeof inner === "string" ? jsonIn(inner) : inner);
  if (fault.success) return fault.data.faultstring;
  return typeof inner === "string" ? inner : "";
}
