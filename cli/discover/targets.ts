import { isIPv4 } from "node:net";
import { Host } from "../../shared/contract/connection.ts";
import { ipv4Number, isIpv6 } from "../../shared/ip-address.ts";
import { shortened } from "../../shared/printable.ts";

/** The limit on the number of addresses from all sources together. */
export const MOST_ADDRESSES = 65_536;

interface Span {
  readonly bits: 32 | 128;
  readonly first: bigint;
  readonly last: bigint;
}

/** Reads host names, addresses, CIDR blocks and ranges such as `10.0.0.5-10.0.0.40`. Duplicates are left out. */
export function parseTargets(words: readonly string[]): {
  readonly hosts: readonly string[];
  readonly problems: readonly string[];
} {
  const read = words.map(readWord);
  const problems = read.flatMap((result, index) =>
    typeof result === "object" && "problem" in result
      ? [`${JSON.stringify(shortened(words[index] ?? "", 80))} ${result.problem}`]
      : [],
  );
  const total = read.reduce((sum, result) => sum + sizeOf(result), 0n);
  if (total > MOST_ADDRESSES) {
    problems.push(`the ranges have ${total} addresses: name at most ${MOST_ADDRESSES}`);
  }
  if (problems.length > 0) return { hosts: [], problems };
  return { hosts: [...new Set(read.flatMap(hostsOf))], problems };
}

/** Whether a BMC may have the address: not multicast, broadcast, reserved or unspecified. */
export function isUnicast(address: string): boolean {
  const span = addressSpan(address);
  if (!span) return false;
  if (span.bits === 128) return span.first !== 0n && span.first >> 120n !== 0xffn;
  return span.first >> 24n !== 0n && span.first < 0xe000_0000n;
}

type Read = string | Span | { readonly problem: string };

function readWord(word: string): Read {
  const bare = word.replace(/^\[(.*)\]$/, "$1");
  if (word.includes("/")) return readBlock(word);
  const [start = "", end, ...more] = bare.split("-");
  if (end !== undefined && more.length === 0 && addressSpan(start)) return readRange(start, end);
  const own = addressSpan(bare);
  if (own) return isUnicast(bare) ? textOf(own.bits, own.first) : { problem: "is not a unicast address" };
  // `fe80::1%eth0` is an address on one link.
  if (isIpv6(bare)) return bare;
  if (/^[\d.]+$/.test(bare)) return { problem: "is not an IPv4 address" };
  const host = Host.safeParse(word);
  return host.success ? host.data : { problem: host.error.issues[0]?.message ?? "is not a host name" };
}

function readBlock(word: string): Read {
  const [, start = "", length = ""] = /^([^/]+)\/(\d{1,3})$/.exec(word) ?? [];
  const base = addressSpan(start);
  if (!base || Number(length) > base.bits) {
    return { problem: "is not a block of addresses, such as 192.0.2.0/28 or 2001:db8::/120" };
  }
  const free = BigInt(base.bits - Number(length));
  const first = (base.first >> free) << free;
  const last = first + (1n << free) - 1n;
  // Leaves out the network and broadcast addresses, which a network with 31 bits does not have (RFC 3021).
  const edge = base.bits === 32 && free > 1n ? 1n : 0n;
  return unicastSpan({ bits: base.bits, first: first + edge, last: last - edge });
}

function readRange(start: string, end: string): Read {
  const [one, other] = [addressSpan(start), addressSpan(end)];
  if (one?.bits !== other?.bits || !one || !other) {
    return { problem: "is not a range of addresses, such as 10.0.0.5-10.0.0.40" };
  }
  if (one.first > other.first) return { problem: "ends before it starts" };
  return unicastSpan({ bits: one.bits, first: one.first, last: other.first });
}

function unicastSpan(span: Span): Read {
  const isUsable = [span.first, span.last].every((number) => isUnicast(textOf(span.bits, number)));
  return isUsable ? span : { problem: "has addresses that are not unicast" };
}

/** Reads an address as a span of one. Returns undefined for anything else, including an address with a zone. */
function addressSpan(text: string): Span | undefined {
  if (isIPv4(text)) {
    const number = ipv4Number(text);
    return number === undefined ? undefined : { bits: 32, first: BigInt(number), last: BigInt(number) };
  }
  if (!isIpv6(text) || text.includes("%")) return undefined;
  const number = ipv6Number(text);
  return { bits: 128, first: number, last: number };
}

function ipv6Number(text: string): bigint {
  // Without dotted decimals, in lower case and compressed.
  const [head = "", tail] = canonical(text).split("::");
  const groups = (part: string | undefined) => (part ? part.split(":") : []);
  const [before, after] = [groups(head), groups(tail)];
  const zeros = new Array<string>(8 - before.length - after.length).fill("0");
  return [...before, ...zeros, ...after].reduce((sum, group) => (sum << 16n) + BigInt(`0x${group}`), 0n);
}

function canonical(ipv6: string): string {
  return new URL(`http://[${ipv6}]`).hostname.slice(1, -1);
}

function textOf(bits: Span["bits"], number: bigint): string {
  if (bits === 32) return [24n, 16n, 8n, 0n].map((shift) => (number >> shift) & 0xffn).join(".");
  const groups = Array.from({ length: 8 }, (_, index) => (number >> BigInt(112 - 16 * index)) & 0xffffn);
  return canonical(groups.map((group) => group.toString(16)).join(":"));
}

function sizeOf(read: Read): bigint {
  if (typeof read === "string") return 1n;
  return "problem" in read ? 0n : read.last - read.first + 1n;
}

function hostsOf(read: Read): readonly string[] {
  if (typeof read === "string") return [read];
  if ("problem" in read) return [];
  const { bits, first, last } = read;
  return Array.from({ length: Number(last - first + 1n) }, (_, index) => textOf(bits, first + BigInt(index)));
}
