import type { X509Certificate } from "node:crypto";
import { isIPv4 } from "node:net";
import { oneLine } from "../../contract/result.ts";
import { isIpv6 } from "../../ip-address.ts";

/** A summary of a certificate. */
export interface CertificateSummary {
  /** The SHA-256 in hex, as in `tls.fingerprint` of the inventory. */
  readonly fingerprint: string;
  /** The subject on one line: `CN=bmc-7.example.org, O=Example`. */
  readonly subject: string;
  /** The issuer on one line. */
  readonly issuer: string;
  /** The expiry date in ISO 8601. */
  readonly notAfter: string;
}

/** A certificate with the certificates that lead to its root, as they are sent. */
export interface CertificateChain {
  /** The BMC's own certificate. */
  readonly leaf: CertificateSummary;
  /** The chain in PEM with the leaf first. */
  readonly pem: string;
  /** The number of certificates. */
  readonly size: number;
}

/** What a chain must be valid for. */
export interface ChainPurpose {
  /** The name or address for which the leaf must be valid; any if absent. */
  readonly host?: string | undefined;
  readonly nowMs: number;
}

const LARGEST = 65_536;
const MOST_CERTIFICATES = 10;
const LONGEST_NAME = 300;
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g;

/** Reads PEM and finds every problem that a BMC might only show when it can no longer be reached. */
export function readChain(text: string, purpose: ChainPurpose): CertificateChain | readonly string[] {
  if (text.length > LARGEST) return [`the certificate is larger than ${LARGEST} bytes`];
  if (/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(text)) {
    return ["the certificate comes with a private key: remove it, the BMC keeps its own key"];
  }
  const blocks = text.match(CERTIFICATE) ?? [];
  const { X509Certificate: Certificate } = process.getBuiltinModule("node:crypto");
  let all: readonly X509Certificate[];
  try {
    all = blocks.slice(0, MOST_CERTIFICATES + 1).map((block) => new Certificate(block));
  } catch {
    return ["the certificate is not valid PEM"];
  }
  const [leaf] = all;
  if (!leaf) return ["the certificate is not valid PEM"];
  if (all.length > MOST_CERTIFICATES) return [`there are more than ${MOST_CERTIFICATES} certificates`];
  const problems = [
    ...orderProblems(all),
    ...termProblems(all, purpose.nowMs),
    ...hostProblems(leaf, purpose),
  ];
  if (problems.length > 0) return problems;
  return { leaf: summarize(leaf), pem: all.map((each) => each.toString()).join(""), size: all.length };
}

export function summarize(certificate: X509Certificate): CertificateSummary {
  return {
    fingerprint: certificate.fingerprint256.replaceAll(":", "").toLowerCase(),
    subject: nameOf(certificate.subject),
    issuer: nameOf(certificate.issuer),
    notAfter: isoOf(certificate.validToDate),
  };
}

/** Describes a certificate: `certificate CN=bmc-7 until 2027-11-23 (fingerprint 1f2e...)`. */
export function describeCertificate({ subject, notAfter, fingerprint }: CertificateSummary): string {
  return `certificate ${subject || "without a subject"} until ${notAfter.slice(0, 10)} (fingerprint ${fingerprint})`;
}

function nameOf(name: string | undefined): string {
  return oneLine((name ?? "").replaceAll("\n", ", ")).slice(0, LONGEST_NAME);
}

/** Formats a date. A BMC's certificate may have any date. */
function isoOf(date: Date): string {
  return Number.isNaN(date.getTime()) ? "unknown" : date.toISOString();
}

/** Whether a certificate was issued by another. Node throws for unknown types of keys. */
function isIssuedBy(issued: X509Certificate | undefined, issuer: X509Certificate): boolean {
  try {
    return issued?.checkIssued(issuer) === true && issued.verify(issuer.publicKey);
  } catch {
    return false;
  }
}

function orderProblems(all: readonly X509Certificate[]): readonly string[] {
  return all.slice(1).flatMap((issuer, index) => {
    if (isIssuedBy(all[index], issuer)) return [];
    const [first, second] = [index + 1, index + 2];
    return [
      `certificate ${second} (${nameOf(issuer.subject)}) did not issue certificate ${first}: start with the BMC's own, each followed by its issuer`,
    ];
  });
}

function termProblems(all: readonly X509Certificate[], nowMs: number): readonly string[] {
  return all.flatMap(({ subject, validFromDate, validToDate }) => {
    const name = `the certificate ${nameOf(subject)}`;
    if (!(validToDate.getTime() > nowMs)) return [`${name} expired on ${isoOf(validToDate).slice(0, 10)}`];
    return validFromDate.getTime() <= nowMs ? [] : [`${name} is not valid before ${isoOf(validFromDate)}`];
  });
}

function hostProblems(leaf: X509Certificate, { host }: ChainPurpose): readonly string[] {
  if (host === undefined) return [];
  const bare = host.replace(/%.*$/, "");
  const isAddress = isIPv4(bare) || isIpv6(bare);
  if ((isAddress ? leaf.checkIP(bare) : leaf.checkHost(bare)) !== undefined) return [];
  const names = oneLine(leaf.subjectAltName ?? nameOf(leaf.subject)).slice(0, LONGEST_NAME);
  return [`the certificate is for ${names || "no name"}, not for ${host}`];
}
