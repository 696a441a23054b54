import * as z from "zod/mini";
import type { NetworkRequest, NetworkSettings } from "../../shared/bmc/operations/network-settings.ts";
import { ipv4Number, ipv4Prefix } from "../../shared/ipv4.ts";
import type { InputField, NameInput } from "../harness/input/input.ts";

/** An address, and its subnet if it was given. */
export interface GivenAddress {
  readonly address: string;
  readonly prefix?: number;
}

const EXPECTED_ADDRESS = "is not an IPv4 address with a prefix length or mask, such as 192.0.2.12/24";

/** `192.0.2.12`, `192.0.2.12/24` or `192.0.2.12/255.255.255.0`; undefined if it is none of these. */
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

/** The inputs of this action that restore these settings of a BMC, which is now at another host if one is given. */
export function goBackInput(
  before: NetworkSettings,
  nameInput: NameInput,
  { moved, keeps }: { readonly moved?: string | undefined; readonly keeps: NetworkRequest },
): string {
  const { id, mode, address, prefix, gateway, vlan, hostName } = before;
  const isDhcp = mode === "dhcp";
  const inputs: readonly (readonly [string, string | number | undefined])[] = [
    ["BMC_HOST", moved],
    ["INTERFACE", keeps.interface === undefined ? undefined : id],
    ["MODE", isDhcp ? "dhcp" : undefined],
    [
      "ADDRESS",
      isDhcp || address === undefined ? undefined : `${address}${prefix === undefined ? "" : `/${prefix}`}`,
    ],
    ["GATEWAY", isDhcp || address === undefined ? undefined : (gateway ?? "none")],
    ["VLAN", vlan],
    ["HOST_NAME", hostName || undefined],
  ];
  return inputs
    .flatMap(([name, value]) => (value === undefined ? [] : nameInput(name, String(value))))
    .join(" ");
}
