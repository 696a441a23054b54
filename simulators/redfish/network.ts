import { z } from "zod";
import { ipv4Mask, ipv4Prefix } from "../../shared/ip-address.ts";
import type { SimulatedMachine, SimulatedNetwork } from "../machine.ts";
import { type Answer, methodNotAllowed, noContent, refusal } from "./answer.ts";
import { checkIfMatch, withTag } from "./etag.ts";
import type { RedfishProfile } from "./profiles.ts";
import { collection, type ResourceRequest, type ResourceService } from "./resource-service.ts";
import { resource } from "./schema-types.ts";

const Address = z.strictObject({ Address: z.ipv4(), SubnetMask: z.ipv4(), Gateway: z.ipv4() });
const Old = z.union([
  Address.extend({ AddressOrigin: z.literal("Static") }),
  z.strictObject({ AddressOrigin: z.literal("DHCP") }),
]);
const Common = {
  VLAN: z.strictObject({ VLANEnable: z.boolean(), VLANId: z.int().min(1).max(4094).optional() }).optional(),
  HostName: z.string().optional(),
};
const Patch = z.strictObject({
  DHCPv4: z.strictObject({ DHCPEnabled: z.boolean() }).optional(),
  IPv4StaticAddresses: z.tuple([Address]).optional(),
  ...Common,
});
const OldPatch = z.strictObject({ IPv4Addresses: z.tuple([Old]).optional(), ...Common });

/** The EthernetInterfaces of the manager. */
export class SimulatedInterfaces implements ResourceService {
  readonly #path: string;
  readonly #machine: SimulatedMachine;
  readonly #profile: RedfishProfile;

  constructor(managerPath: string, machine: SimulatedMachine, profile: RedfishProfile) {
    this.#path = `${managerPath}/EthernetInterfaces`;
    this.#machine = machine;
    this.#profile = profile;
  }

  answer({ method, path, body, ifMatch }: ResourceRequest): Answer | undefined {
    const { network } = this.#profile;
    if (network === "none" || !path.startsWith(this.#path)) return undefined;
    const names = network === "several" ? ["eth0", "usb0"] : ["eth0"];
    const paths = names.map((name) => `${this.#path}/${name}`);
    if (path === this.#path && method === "GET") {
      return { status: 200, body: collection(path, "EthernetInterface", paths) };
    }
    const settings = `${paths[0]}/Settings`;
    if (path !== settings && !paths.includes(path)) return undefined;
    if (path.endsWith("usb0"))
      return withTag(
        resource(path, "EthernetInterface", { Name: "Host Interface", ...this.#toHost() }),
        this.#profile,
      );
    const current = resource(path, "EthernetInterface", {
      Name: "Manager Interface",
      ...this.#show(),
      ...(network === "settings" && { "@Redfish.Settings": { SettingsObject: { "@odata.id": settings } } }),
    });
    if (method === "GET") return withTag(current, this.#profile);
    if (method !== "PATCH" || (network === "settings") !== (path === settings))
      return methodNotAllowed(method);
    return checkIfMatch(ifMatch, current, this.#profile) ?? this.#patch(body);
  }

  #show(): Record<string, unknown> {
    const { mac, mode, address, prefix, gateway, vlan, hostName } = this.#machine.network;
    const isDhcp = mode === "dhcp";
    const shown = { Address: address, SubnetMask: ipv4Mask(prefix), Gateway: gateway };
    const { network } = this.#profile;
    const hasDhcp = network !== "old" && network !== "no-dhcpv4";
    return {
      MACAddress: mac.toUpperCase(),
      HostName: hostName,
      IPv4Addresses: [{ ...shown, AddressOrigin: isDhcp ? "DHCP" : "Static" }],
      ...(hasDhcp && { DHCPv4: { DHCPEnabled: isDhcp } }),
      ...(network !== "old" && { IPv4StaticAddresses: isDhcp ? [] : [shown] }),
      VLAN: { VLANEnable: vlan > 0, VLANId: vlan || 1 },
    };
  }

  #toHost(): Record<string, unknown> {
    const IPv4Addresses = [{ Address: "169.254.0.17", SubnetMask: "255.255.255.0", AddressOrigin: "Static" }];
    return { MACAddress: "02:00:00:00:00:0C", IPv4Addresses };
  }

  #patch(body: unknown): Answer {
    const { network } = this.#profile;
    const old = network === "old" || network === "no-dhcpv4" ? readOld(body) : undefined;
    const change = old ?? (network === "old" ? undefined : readNew(body));
    if (!change)
      return refusal(400, "Base.1.8.PropertyUnknown", "The property is not in the list of valid properties.");
    this.#machine.changeNetwork(change);
    return noContent;
  }
}

export function readNew(body: unknown): Partial<SimulatedNetwork> | undefined {
  const { data } = Patch.safeParse(body);
  if (!data) return undefined;
  const [address] = data.IPv4StaticAddresses ?? [];
  const isDhcp = data.DHCPv4?.DHCPEnabled;
  return {
    ...(isDhcp !== undefined && { mode: isDhcp ? ("dhcp" as const) : ("static" as const) }),
    ...(address && placed(address)),
    ...commonOf(data),
  };
}

function readOld(body: unknown): Partial<SimulatedNetwork> | undefined {
  const { data } = OldPatch.safeParse(body);
  if (!data) return undefined;
  const [address] = data.IPv4Addresses ?? [];
  if (!address) return commonOf(data);
  if (address.AddressOrigin === "DHCP") return { mode: "dhcp", ...commonOf(data) };
  return { mode: "static", ...placed(address), ...commonOf(data) };
}

function placed({ Address: address, SubnetMask, Gateway: gateway }: z.infer<typeof Address>) {
  return { address, prefix: ipv4Prefix(SubnetMask) ?? 0, gateway };
}

function commonOf({ VLAN, HostName }: Pick<z.infer<typeof Patch>, "VLAN" | "HostName">) {
  return {
    ...(VLAN && { vlan: VLAN.VLANEnable ? (VLAN.VLANId ?? 1) : 0 }),
    ...(HostName !== undefined && { hostName: HostName }),
  };
}
