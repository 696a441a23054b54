import { isIPv6 } from "node:net";

/** The ports under which a BMC is reached; absent where the provider's own default applies. */
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
 * One text for one BMC, however its host is written, so that no two actions run on one BMC at a time. The usual
 * ports are no part of it: a BMC answers Redfish and IPMI on different ones. Unusual ports are, because then a
 * host may be a tunnel or a gateway to many BMCs.
 */
export function lockKeyOf(host: string, ports: BmcPorts = {}): string {
  const unusual = (["redfish", "ipmi", "amt"] as const).flatMap((provider) => {
    const port = ports[provider];
    return port === undefined || USUAL_PORTS[provider].includes(port) ? [] : [`${provider}:${port}`];
  });
  return [hostKey(host), ...unusual].join(" ");
}

/** One text for one machine behind a service: two services, or two of its machines, are never one. */
export function serviceLockKey(service: "rpc" | "homeassistant", url: string, id: string): string {
  const where = URL.parse(url)?.href.replace(/\/$/, "") ?? url;
  return `${service} ${where} ${id}`;
}

function hostKey(host: string): string {
  const bare = host
    .trim()
    .replace(/^\[(.*)\]$/, "$1")
    .toLowerCase();
  // The URL standard's serialiser writes an IPv6 address in one way only (RFC 5952).
  if (isIPv6(bare) && !bare.includes("%")) return new URL(`http://[${bare}]`).hostname.slice(1, -1);
  return bare.replace(/\.$/, "");
}
