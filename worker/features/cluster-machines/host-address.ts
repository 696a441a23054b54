import { isIPv6 } from "node:net";
import type { ProviderName } from "../../../shared/contract/vocabulary.ts";

/** The part of a connection that `spec.bmc.address` of a BareMetalHost defines. */
export interface HostAddress {
  readonly host: string;
  readonly providers: readonly ProviderName[];
  readonly redfish?: { readonly scheme?: "http"; readonly port?: number; readonly system?: string };
  readonly ipmi?: {
    readonly port?: number;
    readonly privilege: string;
    readonly allowSuite3?: true;
  };
}

export type ReadAddress = { readonly ok: true; readonly address: HostAddress } | { readonly problem: string };

/** Metal3's drivers for Redfish. Each may be followed by `+http` or `+https` (baremetal-operator, pkg/hardwareutils/bmc). */
const REDFISH: ReadonlySet<string> = new Set([
  "redfish",
  "ilo5-redfish",
  "idrac-redfish",
  "redfish-virtualmedia",
  "ilo5-virtualmedia",
  "idrac-virtualmedia",
  "redfish-uefihttp",
]);
const IPMI: ReadonlySet<string> = new Set(["ipmi", "libvirt"]);

/** The schemes of `spec.bmc.address`, without `+http` and `+https`. */
export const ADDRESS_SCHEMES: readonly string[] = [...IPMI, ...REDFISH];

const TRANSPORTS: ReadonlySet<string | undefined> = new Set([undefined, "http", "https"]);
const LONGEST_ADDRESS = 2_048;

/** Parses an address. Without a scheme it means IPMI. A scheme may be followed by only `:`, such as in `ipmi:192.0.2.1`. */
export function readAddress(text: string): ReadAddress {
  if (text.length > LONGEST_ADDRESS) return { problem: "is too long" };
  const [scheme, rest] = splitScheme(text.trim());
  const [driver = "", transport, ...more] = scheme.toLowerCase().split("+");
  const isRedfish = REDFISH.has(driver) && more.length === 0 && TRANSPORTS.has(transport);
  if (!isRedfish && !(IPMI.has(driver) && transport === undefined)) {
    return { problem: `has the scheme ${scheme}, which is none of ${ADDRESS_SCHEMES.join(", ")}` };
  }
  // The parser removes the default port of a scheme that it knows.
  const url = URL.parse(`bmc://${isIPv6(rest) ? `[${rest}]` : rest}`);
  if (!url || url.hostname === "") return { problem: "has no valid host" };
  if (url.username !== "" || url.password !== "") return { problem: "must not contain credentials" };
  return { ok: true, address: isRedfish ? redfishOf(url, transport === "http") : ipmiOf(url, driver) };
}

function redfishOf(url: URL, isPlain: boolean): HostAddress {
  const path = url.pathname.replace(/\/+$/, "");
  const system = /^(\/redfish(\/v1)?)?$/.test(path) ? {} : { system: path };
  const scheme = isPlain ? ({ scheme: "http" } as const) : {};
  return { host: hostOf(url), providers: ["redfish"], redfish: { ...scheme, ...portOf(url), ...system } };
}

function ipmiOf(url: URL, driver: string): HostAddress {
  const privilege = (url.searchParams.get("privilegelevel") ?? "ADMINISTRATOR").toLowerCase();
  // libvirt means VirtualBMC, which offers only cipher suite 3.
  const weak = driver === "libvirt" ? ({ allowSuite3: true } as const) : {};
  return { host: hostOf(url), providers: ["ipmi"], ipmi: { ...portOf(url), privilege, ...weak } };
}

function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, "$1");
}

function portOf({ port }: URL): { readonly port?: number } {
  return port === "" ? {} : { port: Number(port) };
}

/** Splits an address into scheme and rest. The text before the first colon may also be a host or part of an IPv6 address. */
function splitScheme(text: string): readonly [string, string] {
  const [, scheme = "", slashes = "", rest = ""] = /^([^:/[\]]*):(\/\/)?(.*)$/s.exec(text) ?? [];
  const [driver = ""] = scheme.toLowerCase().split("+");
  const isScheme = slashes !== "" || (!isIPv6(text) && (REDFISH.has(driver) || IPMI.has(driver)));
  return isScheme ? [scheme, rest] : ["ipmi", text];
}
