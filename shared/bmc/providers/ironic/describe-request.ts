import type { IronicRequest } from "./api.ts";

/** For people: `PUT /v1/nodes/node-1/states/power {"target":"power on"}`. */
export function describeRequest({ method, path, query, body }: IronicRequest): string {
  const whole = `${method} /v1${path}${query === undefined ? "" : `?${query}`}`;
  return body === undefined ? whole : `${whole} ${JSON.stringify(body)}`;
}
