import { isIPv6 } from "node:net";
import type { Connection } from "../../contract/connection.ts";
import type { Endpoint } from "./endpoint.ts";

/** Where a URL leads, with the connection's TLS options and time to connect. */
export function serviceEndpoint(url: URL, { tls, connectTimeoutMs }: Connection): Endpoint {
  const scheme = url.protocol === "https:" ? "https" : "http";
  const bare = url.hostname.replace(/^\[(.*)\]$/, "$1");
  return {
    scheme,
    host: isIPv6(bare) ? bare : url.hostname,
    port: url.port === "" ? (scheme === "https" ? 443 : 80) : Number(url.port),
    tls,
    connectTimeoutMs,
  };
}
