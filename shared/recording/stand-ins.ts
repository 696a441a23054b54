import { hash, randomBytes } from "node:crypto";
import { type IdentityKind, isKnown, isKnownWord, isPlainAddress, isShort } from "./allow-list.ts";

/** Networks for documentation (RFC 5737), followed by the networks for benchmarks (RFC 2544). */
const DOCUMENTATION = ["192.0.2", "198.51.100", "203.0.113"];
const MOST_NETWORKS = 512;
/** The number of values that are remembered. Further values may share a stand-in. */
const MOST_REMEMBERED = 100_000;
const LONGEST_REMEMBERED = 128;
const MOST_TRIES = 16;
const MAC_DIGITS = 12;
const DIGITS = "0123456789";
const HEX = "0123456789abcdef";
const LETTERS = "abcdefghijklmnopqrstuvwxyz";

/** Replaces values. Within a recording each value has one stand-in of the same form and length, which no other value has. */
export class StandIns {
  readonly #key: string;
  readonly #known = new Map<string, string>();
  readonly #made = new Set<string>();
  /** The networks in the order of their occurrence, each with its hosts in order. */
  readonly #networks = new Map<string, { readonly place: number; readonly hosts: Map<string, number> }>();
  readonly #counts = new Map<IdentityKind, number>();

  /** The key is never written, so that a guess cannot be checked against a stand-in. */
  constructor(key: Buffer = randomBytes(32)) {
    this.#key = key.toString("hex");
  }

  /** The number of different values that were replaced. */
  get counts(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#counts].toSorted(([one], [other]) => one.localeCompare(other)));
  }

  /** Returns the stand-in for a token of letters and digits. */
  of(kind: IdentityKind, token: string): string {
    const value = token.toLowerCase();
    const known = this.#known.get(value);
    if (known !== undefined) return inCaseOf(token, known);
    const made = this.#make(value);
    this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + 1);
    if (this.#known.size < MOST_REMEMBERED && value.length <= LONGEST_REMEMBERED) {
      this.#known.set(value, made);
      this.#made.add(made);
    }
    return inCaseOf(token, made);
  }

  /** Replaces an address. Addresses in one network stay in one network. */
  address(address: string): string {
    if (isPlainAddress(address)) return address;
    const known = this.#known.get(address.toLowerCase());
    if (known !== undefined) return known;
    const made = address.includes(":") ? this.#ipv6(address.toLowerCase()) : this.#ipv4(address);
    if (this.#known.size < MOST_REMEMBERED) this.#known.set(address.toLowerCase(), made);
    this.#counts.set("address", (this.#counts.get("address") ?? 0) + 1);
    return made;
  }

  #make(value: string): string {
    for (let attempt = 0; ; attempt++) {
      const bytes = this.#bytes(`${attempt}\0${value}`);
      const more = attempt < MOST_TRIES ? "" : "x".repeat(attempt - MOST_TRIES + 1);
      const made = formOf(value + more, bytes);
      // A short value may be recognized by its length alone.
      const isTaken = this.#made.has(made) || (isShort(value) ? isKnownWord(made) : isKnown(made));
      if (!isTaken) return made;
    }
  }

  #ipv4(address: string): string {
    const at = address.lastIndexOf(".");
    const [network, host] = [address.slice(0, at), address.slice(at + 1)];
    const known = this.#networks.get(network);
    const { place, hosts } = known ?? { place: this.#networks.size, hosts: new Map<string, number>() };
    if (!known && place < MOST_NETWORKS) this.#networks.set(network, { place, hosts });
    if (!hosts.has(host)) hosts.set(host, hosts.size + 1);
    const last = hosts.get(host);
    if (network.startsWith("169.254.")) return `169.254.${(place % 254) + 1}.${last}`;
    const beyond = place - DOCUMENTATION.length;
    return `${DOCUMENTATION[place] ?? `198.${18 + (beyond >> 8)}.${beyond & 255}`}.${last}`;
  }

  #ipv6(address: string): string {
    const bytes = this.#bytes(address);
    const group = (index: number) => ((bytes(index) << 8) | bytes(index + 1)).toString(16);
    return `${address.startsWith("fe80:") ? "fe80" : "2001:db8"}::${group(0)}:${group(2)}`;
  }

  #bytes(value: string): (index: number) => number {
    const blocks: Buffer[] = [];
    return (index) => {
      const block = index >> 5;
      blocks[block] ??= hash("sha256", `${this.#key}\0${block}\0${value}`, "buffer");
      return blocks[block].readUInt8(index & 31);
    };
  }
}

/**
 * Replaces letters by letters and digits by digits; hexadecimal digits likewise. A MAC address becomes locally administered.
 */
function formOf(value: string, bytes: (index: number) => number): string {
  const isMac = value.length === MAC_DIGITS && /^[\da-f]+$/.test(value);
  const isHex = isMac || (value.length >= 8 && /^(?=.*\d)(?=.*[a-f])[\da-f]+$/.test(value));
  const made = [...value].map((character, index) => {
    const alphabet = isHex ? HEX : /\d/.test(character) ? DIGITS : LETTERS;
    const isFirst = index === 0 && alphabet === DIGITS && value.length > 1;
    // A number keeps its length.
    return isFirst ? DIGITS[1 + (bytes(0) % 9)] : alphabet[bytes(index) % alphabet.length];
  });
  return isMac ? `02${made.slice(2).join("")}` : made.join("");
}

function inCaseOf(token: string, made: string): string {
  if (token === token.toLowerCase()) return made;
  if (token === token.toUpperCase()) return made.toUpperCase();
  return made.replace(/[a-z]/g, (letter, index: number) => {
    const given = token[index] ?? "";
    return given === given.toLowerCase() ? letter : letter.toUpperCase();
  });
}
