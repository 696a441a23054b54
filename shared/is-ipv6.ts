import { isIPv6 } from "node:net";

/** Like Node's `isIPv6`, but skips its regular expression, which takes 6 ms to compile, for hosts without a colon. */
export function isIpv6(host: string): boolean {
  return host.includes(":") && isIPv6(host);
}
