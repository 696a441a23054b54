import { isIPv4 } from "node:net";
import { isIpv6 } from "../../shared/ip-address.ts";
import { isUnicast } from "./targets.ts";

const KEA_HEADER = /^address,/;
/** A lease: an epoch or 0, a MAC address or IAID, and the address. */
const DNSMASQ_LINE = /^\d{1,12} \S+ (\S+) \S+ \S+$/;
const ISC_LEASE = /^\s*(?:lease|iaaddr)\s+(\S+)\s*\{/;
const ISC_STATE = /^\s*binding\s+state\s+(\w+)\s*;/;

/**
 * Returns the addresses of a DHCP server's leases that are in use. Reads leases files of dnsmasq, lease databases of ISC
 * dhcpd (dhcpd.leases(5)) and CSV files of Kea's memfile backend; returns undefined for any other format. The last entry of
 * an address counts.
 */
export function readLeases(text: string): readonly string[] | undefined {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== "" && !line.startsWith("#"));
  const [first = ""] = lines;
  const isDnsmasq = (line: string) => DNSMASQ_LINE.test(line) || /^duid \S+$/.test(line);
  const read = KEA_HEADER.test(first)
    ? readKea(lines)
    : lines.every(isDnsmasq)
      ? readDnsmasq(lines)
      : readIsc(lines);
  return (
    read && [...read].filter(([address, isUsed]) => isUsed && isUnicast(address)).map(([address]) => address)
  );
}

type Leases = ReadonlyMap<string, boolean>;

function readDnsmasq(lines: readonly string[]): Leases {
  return new Map(
    lines.flatMap((line) => DNSMASQ_LINE.exec(line)?.[1] ?? []).map((address) => [address, true]),
  );
}

/** Reads Kea's CSV, in which a comma inside a field is `&#x2c`, state 0 means in use, and a lifetime of 0 is a deletion. */
function readKea([header = "", ...lines]: readonly string[]): Leases {
  const columns = header.split(",");
  const [state, lifetime] = [columns.indexOf("state"), columns.indexOf("valid_lifetime")];
  return new Map(
    lines.map((line) => {
      const fields = line.split(",");
      const isUsed = (fields[state] ?? "0") === "0" && fields[lifetime] !== "0";
      return [fields[0] ?? "", isUsed];
    }),
  );
}

/** Returns undefined if there is no lease. */
function readIsc(lines: readonly string[]): Leases | undefined {
  const leases = new Map<string, boolean>();
  let address: string | undefined;
  for (const line of lines) {
    const opened = ISC_LEASE.exec(line)?.[1];
    if (opened !== undefined && (isIPv4(opened) || isIpv6(opened))) {
      address = opened;
      leases.set(address, true);
    }
    const state = ISC_STATE.exec(line)?.[1];
    if (address !== undefined && state !== undefined) leases.set(address, state === "active");
  }
  return leases.size > 0 ? leases : undefined;
}
