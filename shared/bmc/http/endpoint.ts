import type { Connection, TlsOptions } from "../../contract/connection.ts";
import type { NameOption } from "../../contract/name-option.ts";
import { defined } from "../../defined.ts";
import { isIpv6 } from "../../ip-address.ts";

export interface Endpoint {
  readonly scheme: "https" | "http";
  /** A name or address, IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
  readonly tls: TlsOptions;
  readonly connectTimeoutMs: number;
  /** Called when a host has accepted the connection, even if TLS fails afterwards. */
  readonly onReached?: () => void;
  /** Names options in error messages. Default: as in the inventory. */
  readonly nameOption?: NameOption;
}

/** Formats `host:port` for people and URLs, with IPv6 in brackets and without its zone (RFC 3986 section 3.2.2). */
export function authority({ host, port }: Pick<Endpoint, "host" | "port">): string {
  const bare = host.replace(/%.*$/, "");
  return isIpv6(bare) ? `[${bare}]:${port}` : `${host}:${port}`;
}

/** The endpoint of a URL, with the connection's TLS options and connect timeout. */
export function serviceEndpoint(
  url: URL,
  { tls, connectTimeoutMs }: Pick<Connection, "tls" | "connectTimeoutMs">,
  nameOption?: NameOption,
): Endpoint {
  const scheme = url.protocol === "https:" ? "https" : "http";
  const bare = url.hostname.replace(/^\[(.*)\]$/, "$1");
  return {
    scheme,
    host: isIpv6(bare) ? bare : url.hostname,
    port: url.port === "" ? (scheme === "https" ? 443 : 80) : Number(url.port),
    tls,
    connectTimeoutMs,
    ...defined({ nameOption }),
  };
}
