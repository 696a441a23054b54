import * as z from "zod/mini";
import { BmcError } from "../../../../contract/bmc-error.ts";
import { defined } from "../../../../defined.ts";
import { ipv4Mask, ipv4Prefix } from "../../../../ip-address.ts";
import { identityIn, sendToTarget } from "../../../operations/identity.ts";
import type { NetworkChange, NetworkDriver } from "../../../operations/network-port.ts";
import type { NetworkSettings } from "../../../operations/network-settings.ts";
import type { Unread } from "../../../operations/unread.ts";
import type { Resources } from "../resources/resources.ts";
import {
  SettingsLink,
  type SettingsWrite,
  settingsWrite,
  writeSettings,
} from "../resources/settings-place.ts";
import { throwUnread } from "../resources/unreadable.ts";
import { describeWrite } from "../resources/writer.ts";
import { identifying, lenient } from "../service/schema.ts";
import type { Resource } from "../service/service.ts";

/** BMCs have only a few interfaces: a dedicated port, a shared one, one to the host. */
const MOST_INTERFACES = 16;
const NO_ADDRESS = "0.0.0.0";

const Ipv4Address = z.object({
  Address: lenient(z.string()),
  SubnetMask: lenient(z.string()),
  Gateway: lenient(z.string()),
  AddressOrigin: lenient(z.string()),
});
const Ipv4Addresses = z.catch(z.array(z.catch(Ipv4Address, {})), []);

/** EthernetInterface (DSP0268), as far as it is read. */
const EthernetInterface = z.object({
  "@odata.etag": lenient(z.string()),
  "@Redfish.Settings": SettingsLink,
  Id: lenient(z.string()),
  MACAddress: lenient(z.string()),
  HostName: lenient(z.string()),
  DHCPv4: lenient(z.object({ DHCPEnabled: lenient(z.boolean()) })),
  IPv4Addresses: identifying(Ipv4Addresses),
  /** The field exists since version 1.4 of the schema; before, the addresses themselves are written. */
  IPv4StaticAddresses: lenient(z.array(z.unknown())),
  VLAN: lenient(z.object({ VLANEnable: lenient(z.boolean()), VLANId: lenient(z.int()) })),
});
type EthernetInterface = z.infer<typeof EthernetInterface>;

/** `EthernetInterfaces` of the manager. */
export function redfishNetwork({ system, manager, members, writer }: Resources): NetworkDriver {
  const read = async (signal: AbortSignal) => {
    const { value } = await manager.seen(signal);
    const path = system.service.localPath(value.EthernetInterfaces?.["@odata.id"]);
    const gaps: Unread[] = [];
    const unread = (gap: Unread) => gaps.push(gap);
    const limits = { members: MOST_INTERFACES, requests: { left: MOST_INTERFACES + 2 }, unread };
    const found =
      path === undefined ? undefined : await members.read(path, EthernetInterface, signal, limits);
    if (!found?.length) throwUnread(gaps, "the BMC's network");
    if (!found?.length) throw new BmcError("unsupported", "the BMC lists no network interface of its own");
    return { found, gaps };
  };
  const request = async (change: NetworkChange, signal: AbortSignal): Promise<SettingsWrite> => {
    const { found: interfaces, gaps } = await read(signal);
    const { id, mac } = change.before;
    const found =
      interfaces.find((each) => mac !== undefined && each.value.MACAddress?.toLowerCase() === mac) ??
      interfaces.find((each) => idOf(each) === id);
    if (!found) throwUnread(gaps, `interface ${change.before.id}`);
    if (!found) throw new BmcError("state", `the BMC no longer lists the interface ${change.before.id}`);
    const identity = identityIn({ Id: found.value.Id, MACAddress: mac });
    const targets = [{ what: `interface ${id}`, path: found.path, identity }];
    const { request, own } = await settingsWrite(system.service, found, bodyOf(change, found.value), signal);
    return { request: { ...request, targets }, own };
  };
  return {
    async list(signal) {
      const { found, gaps } = await read(signal);
      return [...found.map(settingsOf), ...gaps.map(({ name, reason }) => ({ id: name, unread: reason }))];
    },
    plan: async (change, signal) => [describeWrite((await request(change, signal)).request)],
    async write(change, signal) {
      await sendToTarget(async () =>
        writeSettings({ system, writer }, await request(change, signal), signal),
      );
    },
  };
}

function idOf({ path, value }: Resource<EthernetInterface>): string {
  return value.Id ?? path.split("/").at(-1) ?? path;
}

function settingsOf(found: Resource<EthernetInterface>): NetworkSettings {
  const { MACAddress: mac, HostName: hostName, VLAN: vlan, ...value } = found.value;
  const used = usedAddress(value);
  return {
    id: idOf(found),
    ...defined({
      mac: mac?.toLowerCase(),
      mode: modeOf(value.DHCPv4?.DHCPEnabled, used?.AddressOrigin),
      address: used?.Address,
      prefix: ipv4Prefix(used?.SubnetMask ?? ""),
      gateway: isAddress(used?.Gateway) ? used?.Gateway : undefined,
      vlan: vlan && vlanOf(vlan),
      hostName,
    }),
  };
}

/**
 * The address that the BMC has from its configured source, whatever comes first in the list. OpenBMC lists a link-local
 * address next to the real one, and before it (openbmc/bmcweb issue 36).
 */
function usedAddress({ IPv4Addresses: all, DHCPv4 }: EthernetInterface) {
  const usable = all.filter((each) => isAddress(each.Address) && !isLinkLocal(each));
  const origin = DHCPv4?.DHCPEnabled === undefined ? undefined : DHCPv4.DHCPEnabled ? "DHCP" : "Static";
  return usable.find(({ AddressOrigin }) => AddressOrigin === origin) ?? usable[0];
}

/** Whether the BMC selected the address itself (RFC 3927), unless it was set. */
function isLinkLocal({ Address = "", AddressOrigin: origin }: z.infer<typeof Ipv4Address>): boolean {
  return origin === "IPv4LinkLocal" || (origin !== "Static" && Address.startsWith("169.254."));
}

function vlanOf({
  VLANEnable: isOn,
  VLANId: id = 0,
}: NonNullable<EthernetInterface["VLAN"]>): number | "off" | undefined {
  if (isOn === undefined) return undefined;
  return isOn ? id : "off";
}

function isAddress(text: string | undefined): boolean {
  return text !== undefined && text !== "" && text !== NO_ADDRESS;
}

function modeOf(isDhcp: boolean | undefined, origin: string | undefined): NetworkSettings["mode"] {
  if (isDhcp !== undefined) return isDhcp ? "dhcp" : "static";
  if (origin === undefined) return undefined;
  return origin === "Static" ? "static" : origin === "DHCP" ? "dhcp" : "other";
}

/** A single request for all changes, because each may end the session. */
function bodyOf({ before, target }: NetworkChange, { DHCPv4, IPv4StaticAddresses }: EthernetInterface) {
  const isNewAddress = (["mode", "address", "prefix", "gateway"] as const).some(
    (field) => target[field] !== before[field],
  );
  const isDhcp = target.mode === "dhcp";
  const isNewMode = target.mode !== before.mode;
  // Without DHCPv4, such as on iDRAC 7.10, only an address with its origin ends DHCP.
  const isOld = DHCPv4 === undefined && (isNewMode || IPv4StaticAddresses === undefined);
  const address = {
    Address: target.address,
    SubnetMask: ipv4Mask(target.prefix ?? 0),
    Gateway: target.gateway ?? NO_ADDRESS,
  };
  const switched = isNewMode && DHCPv4 ? { DHCPv4: { DHCPEnabled: isDhcp } } : {};
  const placed = isDhcp ? switched : { ...switched, IPv4StaticAddresses: [address] };
  const placedOld = isDhcp
    ? { IPv4Addresses: [{ AddressOrigin: "DHCP" }] }
    : { IPv4Addresses: [{ ...address, AddressOrigin: "Static" }] };
  const vlan =
    typeof target.vlan === "number" ? { VLANEnable: true, VLANId: target.vlan } : { VLANEnable: false };
  return {
    ...(isNewAddress && (target.mode === "static" || (isDhcp && isNewMode))
      ? isOld
        ? placedOld
        : placed
      : {}),
    ...(target.vlan !== before.vlan ? { VLAN: vlan } : {}),
    ...(target.hostName !== before.hostName ? { HostName: target.hostName } : {}),
  };
}
