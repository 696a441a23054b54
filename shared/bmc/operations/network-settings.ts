import { BmcError } from "../../contract/bmc-error.ts";
import { defined } from "../../defined.ts";
import { ipv4Number, ipv4Subnet } from "../../ip-address.ts";
import { describeUnread, incompleteList, type Unread } from "./unread.ts";

/** A network interface of a BMC. Fields that the BMC does not report are absent. */
export interface NetworkSettings {
  /** The interface's ID in Redfish, or its channel number in IPMI. */
  readonly id: string;
  /** MAC address, in lower case with colons. */
  readonly mac?: string;
  /** The source of the address; `other` means neither of the two, for example the BIOS. */
  readonly mode?: "static" | "dhcp" | "other";
  /** IPv4 address. */
  readonly address?: string;
  /** Length of the subnet's prefix, 0 to 32. */
  readonly prefix?: number;
  /** IPv4 address; absent also if there is none. */
  readonly gateway?: string;
  /** VLAN ID; absent if the BMC has no VLANs. */
  readonly vlan?: number | "off";
  /** Name without domain. */
  readonly hostName?: string;
  /** Why the interface could not be read; `id` is then what the BMC lists, such as a path. */
  readonly unread?: string;
}

/** The settings to change. Absent fields stay as they are. */
export interface NetworkRequest {
  /** ID of the interface; by default the one that the connection uses, or the only one. */
  readonly interface?: string;
  /** The source of the address. Default: static if `address` is given. */
  readonly mode?: "static" | "dhcp";
  /** IPv4 address. */
  readonly address?: string;
  /** Length of the subnet's prefix, 1 to 30. */
  readonly prefix?: number;
  /** IPv4 address in the subnet. */
  readonly gateway?: string | "none";
  /** VLAN ID, 1 to 4094. */
  readonly vlan?: number | "off";
  /** Name without domain. */
  readonly hostName?: string;
}

/** For people, a list: `static 192.0.2.11/24; no address; 1 interface not read: …`. */
export function describeInterfaces(
  interfaces: readonly NetworkSettings[],
  describe: (one: NetworkSettings) => string = describeNetwork,
): string {
  const read = interfaces.filter(({ unread }) => unread === undefined);
  return read.map(describe).join("; ") + describeUnread(unreadInterfaces(interfaces), "interface");
}

/** The interfaces in a list that could not be read. */
export function unreadInterfaces(interfaces: readonly NetworkSettings[]): readonly Unread[] {
  return interfaces.flatMap(({ id, unread }) => (unread === undefined ? [] : [{ name: id, reason: unread }]));
}

/** For people: `static 192.0.2.11/24, gateway 192.0.2.1, VLAN 42, host name bmc-7`. */
export function describeNetwork({ mode, address, prefix, gateway, vlan, hostName }: NetworkSettings): string {
  const isDhcp = mode === "dhcp";
  const source = mode === undefined || mode === "other" ? "" : isDhcp ? "DHCP " : "static ";
  const place = address === undefined ? "" : `${address}${prefix === undefined ? "" : `/${prefix}`}`;
  const parts = [
    `${source}${place}`.trim() || "no address",
    gateway !== undefined && `gateway ${gateway}`,
    vlan !== undefined && vlan !== "off" && `VLAN ${vlan}`,
    hostName && `host name ${hostName}`,
  ];
  return parts.filter((part) => part).join(", ");
}

/** The settings that a request leads to, without an address if it comes from DHCP. Throws `unsupported`, or `usage` with all problems. */
export function targetOf(before: NetworkSettings, request: NetworkRequest): NetworkSettings {
  const isNew = request.address !== undefined || request.prefix !== undefined;
  const mode = request.mode ?? (request.address === undefined ? before.mode : "static");
  const isDhcp = mode === "dhcp";
  const gateway = request.gateway ?? before.gateway;
  const target: NetworkSettings = {
    id: before.id,
    ...defined({
      mac: before.mac,
      mode,
      address: isDhcp ? undefined : (request.address ?? before.address),
      prefix: isDhcp ? undefined : (request.prefix ?? before.prefix),
      gateway: isDhcp || gateway === "none" ? undefined : gateway,
      vlan: request.vlan ?? before.vlan,
      hostName: request.hostName ?? before.hostName,
    }),
  };
  const touches = isNew || request.gateway !== undefined || request.mode === "static";
  const problems = [...requestProblems(request), ...(touches ? addressProblems(target) : [])];
  if (problems.length > 0) throw new BmcError("usage", [...new Set(problems)].join("; "));
  if (request.hostName !== undefined && before.hostName === undefined) {
    throw new BmcError("unsupported", "the BMC's host name cannot be set");
  }
  if (typeof request.vlan === "number" && before.vlan === undefined) {
    throw new BmcError("unsupported", "the BMC offers no VLAN");
  }
  return target;
}

/** The problems of a request that do not depend on the BMC's present settings. */
export function requestProblems(request: NetworkRequest): readonly string[] {
  const { mode, address, prefix, gateway, vlan, hostName } = request;
  const isStatic = address !== undefined || prefix !== undefined || gateway !== undefined;
  return [
    ...(mode === "dhcp" && isStatic ? ["DHCP takes no address and no gateway"] : []),
    ...hostProblems({ address, prefix, gateway }),
    ...(typeof vlan === "number" && !(Number.isInteger(vlan) && vlan >= 1 && vlan <= 4094)
      ? [`VLAN ${vlan} is not 1 to 4094`]
      : []),
    ...(hostName !== undefined && !HOST_NAME.test(hostName) ? [`${hostName} is not a host name`] : []),
  ];
}

/** Matches a host name of one label (RFC 1123 section 2.1), because Redfish's HostName has no domain. */
export const HOST_NAME = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/i;

interface StaticAddress {
  readonly address: string | undefined;
  readonly prefix: number | undefined;
  readonly gateway: string | undefined;
}

/** The problems of address, prefix and gateway together. */
function addressProblems({ mode, address, prefix, gateway }: NetworkSettings): readonly string[] {
  if (mode !== "static") return mode === "dhcp" ? [] : ["the BMC has no static address: set the mode, too"];
  return [
    ...(address === undefined ? ["a static interface needs an address"] : []),
    ...(prefix === undefined ? ["a static interface needs a prefix length or mask"] : []),
    ...hostProblems({ address, prefix, gateway }),
  ];
}

function hostProblems({ address, prefix, gateway }: StaticAddress): readonly string[] {
  const problems: string[] = [];
  if (prefix !== undefined && !(Number.isInteger(prefix) && prefix >= 1 && prefix <= 30)) {
    problems.push(`prefix length ${prefix} is not 1 to 30`);
  }
  const hasSubnet = problems.length === 0 && prefix !== undefined;
  for (const [name, text] of Object.entries({ address, gateway })) {
    if (text === undefined || text === "none") continue;
    const number = ipv4Number(text);
    if (number === undefined) problems.push(`${name} ${text} is not an IPv4 address`);
    // 0.0.0.0/8 ("this network"), multicast and reserved addresses (RFC 6890).
    else if (number < 0x01000000 || number >= 0xe0000000)
      problems.push(`${name} ${text} is not a host address`);
    else if (hasSubnet) {
      const { first, last } = ipv4Subnet(number, prefix);
      if (number === first || number === last)
        problems.push(`${name} ${text} is not a host address in its /${prefix} subnet`);
    }
  }
  if (problems.length > 0 || !hasSubnet || address === undefined) return problems;
  if (gateway === undefined || gateway === "none") return problems;
  const { first, last } = ipv4Subnet(ipv4Number(address) ?? 0, prefix);
  const there = ipv4Number(gateway) ?? 0;
  if (there < first || there > last)
    problems.push(`gateway ${gateway} is not in the subnet of ${address}/${prefix}`);
  else if (gateway === address) problems.push(`gateway ${gateway} is the BMC's own address`);
  return problems;
}

/** Whether an interface has the wanted settings. Settings that DHCP supplies do not count. */
export function isAsTarget(now: NetworkSettings, target: NetworkSettings): boolean {
  const sameAddress =
    now.address === target.address && now.prefix === target.prefix && now.gateway === target.gateway;
  return (
    (now.mode ?? target.mode) === target.mode &&
    (target.mode === "dhcp" || sameAddress) &&
    (now.vlan ?? "off") === (target.vlan ?? "off") &&
    now.hostName?.toLowerCase() === target.hostName?.toLowerCase()
  );
}

/** Chooses the interface with this ID; without an ID, the one that the connection uses, or the only one. Throws `usage`. */
export function chooseInterface(
  all: readonly NetworkSettings[],
  id: string | undefined,
  hostAddresses: readonly string[],
): NetworkSettings {
  const interfaces = all.filter(({ unread }) => unread === undefined);
  const isWhole = interfaces.length === all.length;
  const listed = describeInterfaces(all, (each) => `${each.id} (${describeNetwork(each)})`);
  if (id !== undefined) {
    const found = interfaces.find((each) => each.id.toLowerCase() === id.toLowerCase());
    if (found) return found;
    const unread = all.flatMap(({ id, unread }) =>
      unread === undefined ? [] : [{ name: id, reason: unread }],
    );
    if (!isWhole) throw incompleteList(`interface ${id} is not among those that can be read`, unread);
    throw new BmcError("usage", `the BMC has no interface ${id}; it has ${listed}`);
  }
  const used = interfaces.find(({ address }) => address !== undefined && hostAddresses.includes(address));
  const [only, ...others] = interfaces;
  if (!only) throw new BmcError("unsupported", "the BMC lists no network interface");
  if (!used && (others.length > 0 || !isWhole)) {
    throw new BmcError("usage", `name the interface: the BMC has ${listed}`);
  }
  return used ?? only;
}
