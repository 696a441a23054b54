import { isIPv6 } from "node:net";

/** The BMC's ports; absent for the provider's default. */
export interface BmcPorts {
  readonly redfish?: number | undefined;
  readonly ipmi?: number | undefined;
  readonly amt?: number | undefined;
}

const USUAL_PORTS: Readonly<Record<keyof BmcPorts, readonly number[]>> = {
  redfish: [443, 80],
  ipmi: [623],
  amt: [16_992, 16_993],
};

/**
 * One key per BMC, however its host is written, so that only one action at a time uses it. Usual ports are ignored,
 * because a BMC serves Redfish and IPMI on different ones. Unusual ports are part of the key, because the host may be
 * a tunnel or gateway to many BMCs.
 */
export function lockKeyOf(host: string, ports: BmcPorts = {}): string {
  const unusual = (["redfish", "ipmi", "amt"] as const).flatMap((provider) => {
    const port = ports[provider];
    return port === undefined || USUAL_PORTS[provider].includes(port) ? [] : [`${provider}:${port}`];
  });
  return [hostKey(host), ...unusual].join(" ");
}

/** One key per machine behind a service. */
export function serviceLockKey(service: "rpc" | "homeassistant", url: string, id: string): string {
  const where = URL.parse(url)?.href.replace(/\/$/, "") ?? url;
  return `${service} ${where} ${id}`;
}

function hostKey(host: string): string {
  const bare = host
    .trim()
    .replace(/^\[(.*)\]$/, "$1")
    .toLowerCase();
  // The URL serializer writes an IPv6 address in one form only (RFC 5952).
  if (isIPv6(bare) && !bare.includes("%")) return new URL(`http://[${bare}]`).hostname.slice(1, -1);
  return bare.replace(/\.$/, "");
}
