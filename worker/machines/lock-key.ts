import { AMT_PORTS, nodeOf } from "../../shared/contract/connection.ts";
import type { ProviderName } from "../../shared/contract/vocabulary.ts";
import { canonicalHost } from "../../shared/ip-address.ts";

const USUAL_PORTS: Readonly<Record<"redfish" | "ipmi" | "amt", readonly number[]>> = {
  redfish: [443, 80],
  ipmi: [623],
  amt: Object.values(AMT_PORTS),
};

/**
 * The key that identifies a BMC in any spelling of its host, so that only one action at a time uses it. Usual ports are
 * ignored, because a BMC serves Redfish and IPMI on different ones. Unusual ports are part of the key, because the host may
 * be a tunnel or gateway to many BMCs.
 */
export function lockKeyOf(
  host: string,
  ports: { readonly [provider in keyof typeof USUAL_PORTS]?: number | undefined } = {},
): string {
  const unusual = (["redfish", "ipmi", "amt"] as const).flatMap((provider) => {
    const port = ports[provider];
    return port === undefined || USUAL_PORTS[provider].includes(port) ? [] : [`${provider}:${port}`];
  });
  return [hostKey(host), ...unusual].join(" ");
}

/**
 * Whether two keys may belong to one BMC: they have the same host, and not both have unusual ports, which BMCs behind a
 * gateway have. A BMC may serve Redfish on a second port.
 */
export function mayBeSameBmc(one: string, other: string): boolean {
  if (one === other) return true;
  const [host, ...ports] = one.split(" ");
  const [otherHost, ...otherPorts] = other.split(" ");
  return host === otherHost && (ports.length === 0 || otherPorts.length === 0);
}

/**
 * The key of a machine behind a service: `id` is the host that a webhook is asked about, or the service's name of the
 * machine.
 */
export function serviceLockKey(service: "rpc" | "homeassistant" | "ironic", url: string, id: string): string {
  return `${service} ${addressKey(url)} ${service === "rpc" ? hostKey(id) : id}`;
}

/**
 * Removes the parts of an address that do not determine where a request goes: a login, a fragment, a dot or slash at the
 * end.
 */
function addressKey(text: string): string {
  const url = URL.parse(text);
  if (!url) return text;
  const { protocol, hostname, port, pathname, search } = url;
  return `${protocol}//${hostKey(hostname)}${port && `:${port}`}${pathname}`.replace(/\/$/, "") + search;
}

function hostKey(host: string): string {
  const lower = host.trim().toLowerCase();
  return (canonicalHost(lower) ?? lower).replace(/\.$/, "");
}

type Ported = {
  readonly [provider in "redfish" | "ipmi" | "ipmitool" | "amt"]: { port?: number | undefined };
};
interface Target extends Ported {
  readonly host: string;
  readonly rpc?: { readonly url: string } | undefined;
  readonly homeassistant?: { readonly url: string; readonly entity: string } | undefined;
  readonly ironic?: { readonly url: string } | undefined;
}

/** The key of a connection: from the service that replaces the BMC, or from the ports of the machine's providers. */
export function connectionLockKey(target: Target, providers: readonly ProviderName[]): string {
  const { host, redfish, ipmi, ipmitool, amt, rpc, homeassistant, ironic } = target;
  if (rpc) return serviceLockKey("rpc", rpc.url, host);
  if (homeassistant) return serviceLockKey("homeassistant", homeassistant.url, homeassistant.entity);
  if (ironic) return serviceLockKey("ironic", ironic.url, nodeOf(target) ?? "");
  const ipmiPort = providers.includes("ipmi") ? ipmi.port : ipmitool.port;
  return lockKeyOf(host, {
    redfish: providers.includes("redfish") ? redfish.port : undefined,
    ipmi: providers.includes("ipmi") || providers.includes("ipmitool") ? ipmiPort : undefined,
    amt: providers.includes("amt") ? amt.port : undefined,
  });
}
