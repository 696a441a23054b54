import { BmcError } from "../../contract/bmc-error.ts";
import { attributeValue, type BiosAttributes } from "./bios-registry.ts";

/** A request to boot a machine with UEFI HTTP boot. */
export interface HttpBootRequest {
  /** The URI of a boot program or image; empty means the URI from the DHCP server. */
  readonly uri: string;
  /** The firmware's name for the network interface, if BIOS attributes select it. Default: the present one. */
  readonly interface?: string;
  /** Whether the firmware verifies the certificate of an https server, if a BIOS attribute selects this. */
  readonly verifiesServer?: boolean;
}

/** A vendor's BIOS attributes for HTTP boot. */
interface HttpBootMake {
  /** The attribute for the URI, which only a BIOS of this vendor has. */
  readonly uri: string;
  readonly values: (request: HttpBootRequest, present: BiosAttributes) => BiosAttributes;
}

const isHttps = (uri: string) => uri.toLowerCase().startsWith("https:");

const HTTP_BOOT_MAKES: readonly HttpBootMake[] = [
  {
    // Dell: the first of four HTTP devices. OneWay: the firmware verifies the server.
    uri: "HttpDev1Uri",
    values: ({ uri, interface: nic, verifiesServer = true }) => ({
      HttpDev1EnDis: "Enabled",
      HttpDev1Uri: uri,
      ...(isHttps(uri) ? { HttpDev1TlsMode: verifiesServer ? "OneWay" : "None" } : {}),
      ...(nic === undefined ? {} : { HttpDev1Interface: nic }),
    }),
  },
  {
    // HPE. Ironic's ilo-uefi-https uses the same attributes.
    uri: "UrlBootFile",
    values: ({ uri, interface: nic, verifiesServer = true }, present) => {
      if (isHttps(uri) && !verifiesServer) {
        throw new BmcError("unsupported", "the BIOS always verifies the server of HTTP boot");
      }
      const support = attributeValue(present, "HttpSupport");
      const taken = ["Auto", isHttps(uri) ? "HttpsOnly" : "HttpOnly"];
      const isOff = typeof support === "string" && !taken.includes(support);
      return {
        UrlBootFile: uri,
        ...(isOff ? { HttpSupport: "Auto" } : {}),
        ...(nic === undefined ? {} : { PreBootNetwork: nic }),
      };
    },
  },
];

/** Finds the BIOS attributes for HTTP boot: the present URI, and the values for a request. Undefined if the BIOS has none. */
export function findHttpBootAttributes(present: BiosAttributes):
  | {
      readonly uri: string;
      readonly values: (request: HttpBootRequest) => BiosAttributes;
    }
  | undefined {
  for (const make of HTTP_BOOT_MAKES) {
    const uri = attributeValue(present, make.uri);
    if (typeof uri === "string") return { uri, values: (request) => make.values(request, present) };
  }
  return undefined;
}

/** A network interface with a BIOS attribute that turns PXE on or off. */
export interface PxeSwitch {
  /** The firmware's name for the interface. */
  readonly name: string;
  readonly enabled: boolean;
}

/** Finds the network interfaces with BIOS attributes that turn PXE on or off, in the BIOS's order. */
export function pxeSwitches(present: BiosAttributes): readonly PxeSwitch[] {
  const all = new Map<string, boolean>();
  for (const { name, enabled } of [...dellDevices(present), ...namedSwitches(present)]) {
    all.set(name, enabled || (all.get(name) ?? false));
  }
  return [...all].map(([name, enabled]) => ({ name, enabled }));
}

/**
 * Returns the values that switch PXE of an interface. Throws `usage` with the known interfaces for an unknown one, and `state`
 * if no PXE device is free for it.
 */
export function pxeValues(name: string, enabled: boolean, present: BiosAttributes): BiosAttributes {
  const [own] = namedSwitches(present).filter((each) => isName(each.name, name));
  if (own) return { [own.attribute]: enabled ? own.on : own.off };
  const devices = dellDevices(present);
  const known = pxeSwitches(present).map((each) => each.name);
  if (known.length === 0) {
    throw new BmcError("unsupported", "the BIOS has no attribute that switches PXE of a network interface");
  }
  const mine = devices.filter((device) => isName(device.name, name));
  if (!enabled) {
    if (mine.length === 0 && !known.some((each) => isName(each, name))) throw unknownInterface(name, known);
    return Object.fromEntries(mine.map(({ attribute }) => [attribute, "Disabled"]));
  }
  if (mine.some((device) => device.enabled)) return {};
  const free = mine[0] ?? devices.find((device) => !device.enabled);
  if (devices.length === 0) throw unknownInterface(name, known);
  if (!free) {
    const text = `all ${devices.length} PXE devices of the BIOS are in use: ${known.join(", ")}; switch one off first`;
    throw new BmcError("state", text);
  }
  return { [free.attribute]: "Enabled", [free.interfaceAttribute]: mine[0]?.name ?? name };
}

function unknownInterface(name: string, known: readonly string[]): BmcError {
  return new BmcError("usage", `the BIOS has no network interface ${name}: it has ${known.join(", ")}`);
}

const isName = (one: string, other: string) => one.toLowerCase() === other.toLowerCase();

/** Finds Dell's PXE devices, each of which can be enabled for one interface. */
function dellDevices(present: BiosAttributes) {
  return Object.entries(present).flatMap(([attribute, value]) => {
    const [, device] = /^(PxeDev\d+)EnDis$/.exec(attribute) ?? [];
    const interfaceAttribute = `${device}Interface`;
    const name = attributeValue(present, interfaceAttribute);
    if (device === undefined || typeof name !== "string") return [];
    return [{ attribute, interfaceAttribute, name, enabled: value === "Enabled" }];
  });
}

/** The vendors that have one attribute per interface: the attribute's name, how it names the interface, and its values. */
const SWITCHES = [
  // HPE: Slot1NicBoot2 is for the interface that PreBootNetwork calls Slot1NicPort2.
  { attribute: /^(\w+Nic)Boot(\d+)$/, infix: "Port", on: "NetworkBoot", off: "Disabled" },
  // Intel: OnboardNICIOMPortPXEEnable_8.
  { attribute: /^(\w*NIC\w*?)PXEEnable(_\d+)$/, infix: "", on: 1, off: 0 },
] as const;

function namedSwitches(present: BiosAttributes) {
  return Object.entries(present).flatMap(([attribute, value]) =>
    SWITCHES.flatMap(({ attribute: pattern, infix, on, off }) => {
      const [, before, after] = pattern.exec(attribute) ?? [];
      if (before === undefined || typeof value !== typeof on) return [];
      return [{ attribute, name: `${before}${infix}${after}`, enabled: value === on, on, off }];
    }),
  );
}
