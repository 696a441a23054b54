import type { Reply } from "../http-listener.ts";

export function json(status: number, body: unknown): Reply {
  return { status, headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
}

/** Makes an error of Ironic: JSON in a JSON string. */
export function fault(status: number, faultstring: string): Reply {
  const inner = { debuginfo: null, faultcode: status < 500 ? "Client" : "Server", faultstring };
  return json(status, { error_message: JSON.stringify(inner) });
}

/** Parses JSON. Returns undefined if the text is not JSON. */
export function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
