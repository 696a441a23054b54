import { createHmac, randomBytes } from "node:crypto";

/** What identifies a machine, a person or a place, and is replaced. */
export type IdentityKind =
  | "address"
  | "asset tag"
  | "host name"
  | "licence"
  | "location"
  | "MAC address"
  | "serial number"
  | "text"
  | "user name"
  | "UUID";

/** What no machine is recognized by, so that it may stay. */
const FILLER =
  /^$|^[\W_]*$|^(.)\1*$|^(n\/?a|none|null|unknown|unspecified|empty|not (specified|available|applicable|present|set|provided)|default( string)?|to be filled by o\.?e\.?m\.?|no asset tag|chassis|system|no dimm|notfound)$/i;

/** Networks for documentation (RFC 5737), then those for benchmarks (RFC 2544). */
const DOCUMENTATION = ["192.0.2", "198.51.100", "203.0.113"];

export function isFiller(value: string): boolean {
  return FILLER.test(value.trim()) || /^0[0:.-]*0?$/.test(value.trim());
}

/** The same stand-in for the same value everywhere in one recording, in the same form. */
export class Pseudonyms {
  readonly #key: Buffer;
  readonly #known = new Map<string, string>();
  readonly #made = new Set<string>();
  /** In their order, with their hosts in theirs. */
  readonly #networks = new Map<string, { readonly place: number; readonly hosts: Map<string, number> }>();
  readonly #counts = new Map<IdentityKind, Set<string>>();

  /** The key is never written, so that a stand-in cannot be checked against a guess. */
  constructor(key: Buffer = randomBytes(32)) {
    this.#key = key;
  }

  /** How many different values were replaced. */
  get counts(): Readonly<Record<string, number>> {
    const entries = [...this.#counts].map(([kind, values]) => [kind, values.size] as const);
    return Object.fromEntries(entries.toSorted(([one], [other]) => one.localeCompare(other)));
  }

  of(kind: IdentityKind, value: string): string {
    if (isFiller(value)) return value;
    const known = this.#known.get(value.toLowerCase());
    // The same value in other letters is the same machine's.
    const replaced = known === undefined ? this.#make(kind, value) : caseLike(known, value);
    if (known === undefined) this.#known.set(value.toLowerCase(), replaced);
    this.#made.add(replaced);
    if (replaced !== value) this.#counts.set(kind, (this.#counts.get(kind) ?? new Set()).add(replaced));
    return replaced;
  }

  /** Whether it stands for a value. */
  isStandIn(text: string): boolean {
    return this.#made.has(text);
  }

  #make(kind: IdentityKind, value: string): string {
    switch (kind) {
      case "address":
        return value.includes(":") ? this.#ipv6(value) : this.#ipv4(value);
      case "MAC address":
        return this.#mac(value);
      case "UUID":
        return this.#hexadecimal(value);
      default:
        return this.#form(value);
    }
  }

  /** Letters for letters and digits for digits. */
  #form(value: string): string {
    const bytes = this.#bytes(value);
    return [...value]
      .map((character, index) => {
        const byte = bytes(index);
        if (/[0-9]/.test(character)) return String(byte % 10);
        if (/[a-z]/.test(character)) return String.fromCharCode(97 + (byte % 26));
        if (/[A-Z]/.test(character)) return String.fromCharCode(65 + (byte % 26));
        return /\p{L}|\p{N}/u.test(character) ? "x" : character;
      })
      .join("");
  }

  #hexadecimal(value: string): string {
    const bytes = this.#bytes(value);
    const isUpper = /[A-F]/.test(value);
    return [...value]
      .map((character, index) => {
        if (!/[0-9a-f]/i.test(character)) return character;
        const digit = (bytes(index) % 16).toString(16);
        return isUpper ? digit.toUpperCase() : digit;
      })
      .join("");
  }

  /** Locally administered, so that it is no maker's. */
  #mac(value: string): string {
    const replaced = this.#hexadecimal(value.toLowerCase()).replace(/^../, "02");
    return /[A-F]/.test(value) ? replaced.toUpperCase() : replaced;
  }

  /** Addresses of one network stay in one network. */
  #ipv4(value: string): string {
    const [, network = "", host = ""] = /^(\d+\.\d+\.\d+)\.(\d+)$/.exec(value) ?? [];
    // Masks, loopback, unspecified, multicast and documentation say nothing of a site.
    if (/^(0|127|2[2-5]\d)\./.test(value)) return value;
    const known = this.#networks.get(network);
    const { place, hosts } = known ?? { place: this.#networks.size, hosts: new Map<string, number>() };
    if (!known) this.#networks.set(network, { place, hosts });
    if (!hosts.has(host)) hosts.set(host, hosts.size + 1);
    const last = hosts.get(host);
    if (value.startsWith("169.254.")) return `169.254.${(place % 254) + 1}.${last}`;
    const beyond = place - DOCUMENTATION.length;
    return `${DOCUMENTATION[place] ?? `198.${18 + (beyond >> 8)}.${beyond & 255}`}.${last}`;
  }

  #ipv6(value: string): string {
    if (/^(::1?|ff.*)$/i.test(value)) return value;
    const bytes = this.#bytes(value);
    const group = (index: number) => ((bytes(index) << 8) | bytes(index + 1)).toString(16);
    const prefix = /^fe80:/i.test(value) ? "fe80" : "2001:db8";
    return `${prefix}::${group(0)}:${group(2)}`;
  }

  #bytes(value: string): (index: number) => number {
    const blocks: Buffer[] = [];
    return (index) => {
      const block = index >> 5;
      blocks[block] ??= createHmac("sha256", this.#key).update(`${block}\0${value.toLowerCase()}`).digest();
      return blocks[block].readUInt8(index & 31);
    };
  }
}

function caseLike(known: string, value: string): string {
  if (value === value.toLowerCase()) return known.toLowerCase();
  return value === value.toUpperCase() ? known.toUpperCase() : known;
}
