import { BmcError } from "../../contract/bmc-error.ts";
import { oneLine } from "../../contract/result.ts";
import { defined } from "../../defined.ts";

/** The key databases of UEFI Secure Boot (UEFI 2.10 section 32.4). */
export const SECURE_BOOT_DATABASES = ["pk", "kek", "db", "dbx"] as const;
/** A key database: platform key, key exchange keys, allowed signatures or forbidden signatures. */
export type SecureBootDatabase = (typeof SECURE_BOOT_DATABASES)[number];

/** A key as the BMC lists it; a field that it does not report is absent. */
export interface SecureBootKey {
  readonly database: SecureBootDatabase;
  readonly kind: "certificate" | "signature";
  /** The BMC's ID, unique among keys of the same kind in the database. A deletion may change the IDs of other keys. */
  readonly id: string;
  /** SHA-256 of a certificate, or the value of a signature, in lower-case hex. */
  readonly fingerprint?: string;
  /** Common name of a certificate. */
  readonly subject?: string;
  /** Common name of the certificate's issuer. */
  readonly issuer?: string;
  /** When the certificate expires, ISO 8601. */
  readonly notAfter?: string;
  /** GUID of its owner (`UefiSignatureOwner`). */
  readonly owner?: string;
}

/** A key to enroll: a certificate, or the SHA-256 of an image for `db` and `dbx`. */
export interface NewSecureBootKey {
  readonly kind: "certificate" | "signature";
  /** PEM of the certificate. */
  readonly pem?: string;
  /** SHA-256 of the certificate, or of the image, in hex. */
  readonly fingerprint: string;
  readonly subject?: string;
  readonly notAfter?: string;
  /** GUID; the BMC chooses if absent. */
  readonly owner?: string;
}

/** The UEFI name of a database: `PK`, `KEK`, `db`, `dbx`. */
export function titleOf(database: SecureBootDatabase): string {
  return database.startsWith("d") ? database : database.toUpperCase();
}

/** The facts that identify a certificate. */
export interface CertificateIdentity {
  /** SHA-256 in lower-case hex. */
  readonly fingerprint: string;
  /** Common names. */
  readonly subject?: string;
  readonly issuer?: string;
  /** ISO 8601. */
  readonly notAfter?: string;
}

/** Reads a certificate in PEM; undefined if the text is not one. */
export function readCertificate(pem: string): CertificateIdentity | undefined {
  const { X509Certificate: Certificate } = process.getBuiltinModule("node:crypto");
  try {
    const { fingerprint256, subject, issuer, validToDate } = new Certificate(pem);
    const notAfter = Number.isNaN(validToDate.getTime()) ? undefined : validToDate.toISOString();
    return {
      fingerprint: hexOf(fingerprint256),
      ...defined({ subject: commonName(subject), issuer: commonName(issuer), notAfter }),
    };
  } catch {
    return undefined;
  }
}

const LARGEST_PEM = 65_536;

/** Creates a key from a certificate in PEM. Throws `usage` for other text. */
export function newCertificate(pem: string, owner: string | undefined): NewSecureBootKey {
  const refuse = (problem: string) => new BmcError("usage", problem);
  if (pem.length > LARGEST_PEM) throw refuse(`the certificate is larger than ${LARGEST_PEM} bytes`);
  if (/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(pem)) {
    throw refuse("the certificate comes with a private key: remove it, a database takes only certificates");
  }
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  const [block, ...more] = blocks;
  if (more.length > 0) throw refuse(`there are ${blocks.length} certificates: enroll one at a time`);
  const identity = block === undefined ? undefined : readCertificate(block);
  if (block === undefined || !identity) throw refuse("the certificate is not valid PEM");
  const { fingerprint, subject, notAfter } = identity;
  return { kind: "certificate", pem: `${block}\n`, fingerprint, ...defined({ subject, notAfter, owner }) };
}

/** Whether a listed key is the new one. Without a fingerprint, names and expiry time identify a certificate. */
export function isNewKey(listed: SecureBootKey, key: NewSecureBootKey): boolean {
  if (listed.kind !== key.kind) return false;
  if (listed.fingerprint !== undefined) return listed.fingerprint === key.fingerprint;
  if (listed.subject === undefined || listed.notAfter === undefined) return false;
  return listed.subject === key.subject && listed.notAfter === key.notAfter;
}

/** Whether two readings show the same key, whatever its ID. */
export function isSameKey(one: SecureBootKey, other: SecureBootKey): boolean {
  const identity = ({ id, kind, fingerprint, subject, issuer, notAfter }: SecureBootKey) =>
    fingerprint === undefined
      ? [kind, subject, issuer, notAfter, subject === undefined ? id : ""].join("\n")
      : `${kind}\n${fingerprint}`;
  return identity(one) === identity(other);
}

/** Whether `name` is the key's ID or its fingerprint, in any spelling of hex. */
export function hasName({ id, fingerprint }: SecureBootKey, name: string): boolean {
  return id === name || (fingerprint !== undefined && fingerprint === hexOf(name));
}

/** Lower-case hex without separators. */
export function hexOf(text: string): string {
  return text.replaceAll(":", "").toLowerCase();
}

/** For people: `certificate CN=Example CA (1f2e…)`, `signature 1f2e…`. */
export function describeSecureBootKey(
  key: Pick<SecureBootKey, "kind" | "fingerprint" | "subject"> & { readonly id?: string },
): string {
  const { kind, id, fingerprint, subject } = key;
  const name = subject === undefined ? "" : `CN=${oneLine(subject)}`;
  const digest = fingerprint === undefined ? (id ?? "") : `${fingerprint.slice(0, 12)}…`;
  if (name === "") return `${kind} ${digest}`;
  return `${kind} ${name} (${digest})`;
}

function commonName(name: string | undefined): string | undefined {
  return name
    ?.split("\n")
    .find((part) => part.startsWith("CN="))
    ?.slice(3);
}
