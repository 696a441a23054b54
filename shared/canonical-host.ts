import { isIpv6 } from "./is-ipv6.ts";

/** The last label of a host that programs read as an IPv4 address (URL Standard, "ends in a number checker"). */
const NUMBER_AT_END = /(^|\.)(0x[0-9a-f]*|\d+)\.?$/i;
const MAPPED = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/;

/**
 * One spelling per address: `127.1`, `2130706433`, `0x7f000001`, `0177.0.0.1` and `::ffff:127.0.0.1` become `127.0.0.1`, as
 * inet_aton(3) and the URL Standard read them, and an IPv6 address takes the form of RFC 5952. Brackets around it are taken off.
 * Names stay as they are. Undefined for text that ends like an address and is none.
 */
export function canonicalHost(host: string): string | undefined {
  const bare = host.replace(/^\[(.*)\]$/, "$1");
  if (isIpv6(bare)) {
    // A zone belongs to one machine's interfaces, and URLs have none.
    const [plain = "", zone] = bare.split("%");
    const address = new URL(`http://[${plain}]`).hostname.slice(1, -1);
    if (zone !== undefined) return `${address}%${zone}`;
    const [, high, low] = MAPPED.exec(address) ?? [];
    if (high === undefined || low === undefined) return address;
    const [a, b] = [Number.parseInt(high, 16), Number.parseInt(low, 16)];
    return [a >> 8, a & 0xff, b >> 8, b & 0xff].join(".");
  }
  return NUMBER_AT_END.test(host) ? URL.parse(`http://${host}`)?.hostname : host;
}
