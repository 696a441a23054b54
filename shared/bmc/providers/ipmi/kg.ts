import { BmcError } from "../../../contract/bmc-error.ts";

/** IPMI 2.0 section 22.25: the key Kg has 160 bits. */
const KG_BYTES = 20;

/** The BMC key as bytes, not padded: text as it is, or hex after `0x`. Throws `usage`. */
export function parseKg(kg: string): Buffer {
  const hex = /^0x(.*)$/is.exec(kg)?.[1];
  if (hex !== undefined && !/^([0-9a-f]{2})+$/i.test(hex)) {
    throw new BmcError("usage", "the BMC key Kg begins with 0x but is not hex with two digits per byte");
  }
  const bytes = hex === undefined ? Buffer.from(kg) : Buffer.from(hex, "hex");
  if (bytes.length > KG_BYTES) {
    throw new BmcError("usage", `the BMC key Kg has ${bytes.length} bytes, IPMI takes at most ${KG_BYTES}`);
  }
  return bytes;
}

/** Keys are compared and used as 20 bytes, zeros at the end (section 13.31). */
export function padKey(bytes: Uint8Array): Buffer {
  const key = Buffer.alloc(KG_BYTES);
  key.set(bytes.subarray(0, KG_BYTES));
  return key;
}
