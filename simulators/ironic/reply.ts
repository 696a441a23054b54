import type { Reply } from "../http-listener.ts";

export function json(status: number, body: unknown): Reply {
  return { status, headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
}

/** An error of Ironic: JSON in a string of JSON. */
export function fault(status: number, faultstring: string): Reply {
  const inner = { debuginfo: null, faultcode: status < 500 ? "Client" : "Server", faultstring };
  return json(status, { error_message: JSON.stringify(inner) });
}

/** Undefined when it is no JSON. */
export function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
