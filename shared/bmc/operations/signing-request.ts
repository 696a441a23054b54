import { isIPv4 } from "node:net";
import { BmcError } from "../../contract/bmc-error.ts";

/** The names for a certificate signing request. */
export interface SigningRequestNames {
  /** The BMC's name or address. */
  readonly commonName: string;
  /** DNS names and IP addresses for the subject alternative name. */
  readonly alternativeNames?: readonly string[];
  /** O of the subject. */
  readonly organization?: string;
  /** OU of the subject. */
  readonly organizationalUnit?: string;
  /** L of the subject. */
  readonly city?: string;
  /** ST of the subject. */
  readonly state?: string;
  /** C of the subject: two letters. */
  readonly country?: string;
}

const LARGEST = 16_384;
/** RFC 7468 section 7; `NEW` is an older label. */
const REQUEST =
  /^-----BEGIN (NEW )?CERTIFICATE REQUEST-----([A-Za-z0-9+/=\s]+)-----END \1?CERTIFICATE REQUEST-----$/;

/**
 * Checks a BMC's certificate signing request and returns it in PEM. Throws `protocol` if the text is something else, and
 * `verify` if a requested name is missing, which otherwise only the certificate would show.
 */
export function checkSigningRequest(text: string, names: SigningRequestNames): string {
  const pem = text.replaceAll("\r", "").trim();
  const [, , base64 = ""] = pem.length <= LARGEST ? (REQUEST.exec(pem) ?? []) : [];
  const der = Buffer.from(base64, "base64");
  if (!isSequence(der)) throw new BmcError("protocol", "the BMC's answer is not a CSR");
  const asked = [names.commonName, ...(names.alternativeNames ?? [])];
  const missing = asked.filter(
    (name) => !der.includes(name) && !(isIPv4(name) && der.includes(bytesOf(name))),
  );
  if (missing.length > 0) throw new BmcError("verify", `the CSR of the BMC lacks ${missing.join(", ")}`);
  return `${pem}\n`;
}

/** Whether all bytes are one DER sequence of 128 to 65535 bytes (X.690 section 8.1.3), which a request is. */
function isSequence(der: Buffer): boolean {
  if (der.length < 4 || der[0] !== 0x30) return false;
  if (der[1] === 0x81) return der.length === 3 + der.readUInt8(2);
  return der[1] === 0x82 && der.length === 4 + der.readUInt16BE(2);
}

function bytesOf(address: string): Buffer {
  return Buffer.from(address.split(".").map(Number));
}
