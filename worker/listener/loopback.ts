import { BlockList, isIPv4, isIPv6 } from "node:net";

const LOOPBACK = loopbackAddresses();

function loopbackAddresses(): BlockList {
  const addresses = new BlockList();
  addresses.addSubnet("127.0.0.0", 8, "ipv4");
  addresses.addAddress("::1", "ipv6");
  return addresses;
}

/** Whether only the same host can reach an IP address (IPv6 without brackets). */
export function isLoopback(address: string): boolean {
  if (isIPv4(address)) return LOOPBACK.check(address, "ipv4");
  // Also matches IPv4-mapped IPv6 addresses.
  return isIPv6(address) && LOOPBACK.check(address, "ipv6");
}

/**
 * Whether a Host header (RFC 9110 section 7.2) has a name for this host that no foreign DNS zone can contain: a web page
 * whose own name resolves to this host (DNS rebinding) sends that name. `localhost` and its subdomains are always local
 * (RFC 6761 section 6.3). The port may differ, as behind a tunnel.
 */
export function namesLoopback(host: string): boolean {
  const [, bracketed, name = bracketed ?? ""] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(host.trim()) ?? [];
  return isLoopback(name) || /^(?:.+\.)?localhost\.?$/i.test(name);
}

/**
 * The hosts that a request names: one, or none in HTTP/1.0. Undefined if it names several (RFC 9112 section 3.2, RFC 9113
 * section 8.3.1), because a proxy may choose another one than this server. `rawHeaders` alternates names and values.
 */
export function hostsNamed(rawHeaders: readonly string[]): readonly string[] | undefined {
  const valuesOf = (wanted: string) =>
    rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === wanted);
  const [hosts, authorities] = [valuesOf("host"), valuesOf(":authority")];
  if (hosts.length > 1 || authorities.length > 1) return undefined;
  const named = [...new Set([...authorities, ...hosts])];
  return named.length > 1 ? undefined : named;
}
