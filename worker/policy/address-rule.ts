import { BlockList, isIP } from "node:net";
import { canonicalHost } from "../../shared/ip-address.ts";
import { isAmong, matchesName } from "./wildcard.ts";

/** Objects of these namespaces may name these networks, addresses and names. */
interface AddressRule {
  readonly namespaces: readonly string[];
  readonly addresses: readonly string[];
}

/** Parses a network such as `10.1.0.0/16` to the arguments of `BlockList.addSubnet`; undefined for other text. */
export function parseNetwork(text: string): readonly [string, number, "ipv4" | "ipv6"] | undefined {
  const [address = "", prefix, ...more] = text.split("/");
  const family = isIP(address);
  if (family === 0 || more.length > 0) return undefined;
  const longest = family === 4 ? 32 : 128;
  const bits = prefix === undefined ? longest : /^\d{1,3}$/.test(prefix) ? Number(prefix) : Number.NaN;
  return bits <= longest ? [address, bits, family === 4 ? "ipv4" : "ipv6"] : undefined;
}

/** Why an object of a namespace must not name a BMC's or service's address; undefined if it may. */
export function addressProblem(
  namespace: string,
  host: string,
  rules: readonly AddressRule[] | undefined,
): string | undefined {
  if (rules === undefined) return undefined;
  const own = rules.filter(({ namespaces }) => isAmong(namespace, namespaces));
  if (own.some(({ addresses }) => addresses.some((entry) => includes(entry, host)))) return undefined;
  return `an object of namespace ${namespace} may not name the address ${host}`;
}

/**
 * Whether an entry includes a host. A name matches only patterns of names, because the address that it resolves to may
 * change.
 */
function includes(entry: string, host: string): boolean {
  const address = canonicalHost(host) ?? host;
  const family = isIP(address.replace(/%.*/, ""));
  const network = parseNetwork(entry);
  if (family === 0)
    return (
      network === undefined && matchesName(entry.toLowerCase(), address.toLowerCase().replace(/\.$/, ""))
    );
  if (!network) return false;
  const list = new BlockList();
  list.addSubnet(...network);
  return list.check(address.replace(/%.*/, ""), family === 4 ? "ipv4" : "ipv6");
}
