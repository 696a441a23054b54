import { BlockList, isIPv4, isIPv6 } from "node:net";

const LOOPBACK = loopbackAddresses();

function loopbackAddresses(): BlockList {
  const addresses = new BlockList();
  addresses.addSubnet("127.0.0.0", 8, "ipv4");
  addresses.addAddress("::1", "ipv6");
  return addresses;
}

/** Whether an IP address, IPv6 without brackets, is reached from the same machine alone. */
export function isLoopback(address: string): boolean {
  if (isIPv4(address)) return LOOPBACK.check(address, "ipv4");
  // IPv4 addresses written as IPv6 ones are found as well.
  return isIPv6(address) && LOOPBACK.check(address, "ipv6");
}

/**
 * Whether a Host header (RFC 9110 section 7.2) names this machine by a name that no foreign DNS zone can have: a web page
 * whose own name was made to point here (DNS rebinding) sends its own. `localhost` and what is below it stay local (RFC
 * 6761 section 6.3). The port may be another one, as behind a tunnel.
 */
export function namesLoopback(host: string): boolean {
  const [, bracketed, name = bracketed ?? ""] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(host.trim()) ?? [];
  return isLoopback(name) || /^(?:.+\.)?localhost\.?$/i.test(name);
}
