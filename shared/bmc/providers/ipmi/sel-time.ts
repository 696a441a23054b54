/** IPMI 2.0 section 37: timestamps up to this one count from the BMC's start, not from 1970. */
const LAST_BEFORE_INITIALISATION = 0x2000_0000;
const UNSPECIFIED = 0xffff_ffff;

/** What the four bytes of a timestamp mean. */
export type SelTime =
  | { readonly kind: "since-epoch"; readonly ms: number }
  /** The BMC did not know the time yet. */
  | { readonly kind: "since-start"; readonly seconds: number }
  | { readonly kind: "unspecified" };

/** `seconds`: as they stand on the wire, an unsigned 32-bit number. */
export function selTime(seconds: number): SelTime {
  if (seconds === UNSPECIFIED) return { kind: "unspecified" };
  if (seconds <= LAST_BEFORE_INITIALISATION) return { kind: "since-start", seconds };
  return { kind: "since-epoch", ms: seconds * 1_000 };
}
