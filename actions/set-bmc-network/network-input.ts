import * as z from "zod/mini";
import {
  HOST_NAME,
  isAsTarget,
  type NetworkRequest,
  type NetworkSettings,
  targetOf,
} from "../../shared/bmc/operations/network-settings.ts";
import { defined } from "../../shared/defined.ts";
import { ipv4Number, ipv4Prefix } from "../../shared/ip-address.ts";
import type { InputField, NameInput } from "../harness/input/input.ts";

/** An address, with its subnet if one was given. */
export interface GivenAddress {
  readonly address: string;
  readonly prefix?: number;
}

const EXPECTED_ADDRESS = "is not an IPv4 address with a prefix length or mask, such as 192.0.2.12/24";

/** Reads `192.0.2.12`, `192.0.2.12/24` or `192.0.2.12/255.255.255.0`. Returns undefined for anything else. */
function readAddress(text: string): GivenAddress | undefined {
  const [address = "", subnet, ...rest] = text.trim().split("/");
  if (rest.length > 0 || ipv4Number(address) === undefined) return undefined;
  if (subnet === undefined) return { address };
  const prefix = /^\d{1,2}$/.test(subnet) ? Number(subnet) : ipv4Prefix(subnet);
  return prefix === undefined ? undefined : { address, prefix };
}

const AddressText = z.pipe(
  z.string(),
  z.transform((text: string, context): GivenAddress => {
    const given = readAddress(text);
    if (!given) context.issues.push({ code: "custom", message: EXPECTED_ADDRESS, input: text });
    return given ?? { address: "" };
  }),
);

export const addressField = {
  env: "ADDRESS",
  type: "text",
  description: "IPv4 address with prefix length or mask; without these, the subnet keeps its size",
  schema: AddressText,
} as const satisfies InputField<GivenAddress>;

/**
 * Returns the inputs of this action that restore the given settings of a BMC, which is now at another host if one is given.
 * Returns undefined if they cannot be restored, such as an interface without a subnet or an address from the BIOS.
 */
export function goBackInput(
  before: NetworkSettings,
  nameInput: NameInput,
  { moved, keeps }: { readonly moved?: string | undefined; readonly keeps: NetworkRequest },
): string | undefined {
  const { id, mode, address, prefix, gateway, vlan, hostName } = before;
  const isDhcp = mode === "dhcp";
  const isStatic = !isDhcp && address !== undefined;
  const request: NetworkRequest = defined({
    mode: isDhcp ? ("dhcp" as const) : undefined,
    address: isStatic ? address : undefined,
    prefix: isStatic ? prefix : undefined,
    gateway: isStatic ? (gateway ?? ("none" as const)) : undefined,
    vlan,
    // A name with a domain cannot be set, so it matters only if it was changed.
    hostName:
      (keeps.hostName !== undefined || HOST_NAME.test(hostName ?? "")) && hostName ? hostName : undefined,
  });
  if (!restores(before, request)) return undefined;
  const subnet = request.prefix === undefined ? "" : `/${request.prefix}`;
  const inputs: readonly (readonly [string, string | number | undefined])[] = [
    ["BMC_HOST", moved],
    ["INTERFACE", keeps.interface === undefined ? undefined : id],
    ["MODE", request.mode],
    ["ADDRESS", request.address && `${request.address}${subnet}`],
    ["GATEWAY", request.gateway],
    ["VLAN", request.vlan],
    ["HOST_NAME", request.hostName],
  ];
  return inputs
    .flatMap(([name, value]) => (value === undefined ? [] : nameInput(name, String(value))))
    .join(" ");
}

function restores(before: NetworkSettings, request: NetworkRequest): boolean {
  try {
    return isAsTarget(before, targetOf(before, request));
  } catch {
    return false;
  }
}
