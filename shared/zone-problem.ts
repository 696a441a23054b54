import { networkInterfaces } from "node:os";
import { isIpv6 } from "./is-ipv6.ts";

/** Why the zone of an IPv6 address (RFC 4007) leads nowhere. Node takes only names of interfaces, and ignores any other zone. */
export function zoneProblem(host: string): Error | undefined {
  const zone = /%(.*)$/.exec(host)?.[1];
  if (zone === undefined || !isIpv6(host) || Object.hasOwn(networkInterfaces(), zone)) return undefined;
  return new Error(`this host has no interface named ${zone} that is up`);
}
