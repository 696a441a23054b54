import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  sign,
  X509Certificate,
} from "node:crypto";
import { isIP, SocketAddress } from "node:net";
import * as der from "./der.ts";

const DAY_MS = 86_400_000;

/** A key and its certificate, both in PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

export interface CertificateOptions {
  readonly commonName: string;
  /** DNS names and IP addresses of the subject alternative name. */
  readonly altNames?: readonly string[];
  /** The certificate that signs this one. Without it, the certificate is self-signed. */
  readonly issuer?: Certificate;
  /** Whether the certificate may sign others. */
  readonly authority?: boolean;
  /** The owner's key in PEM. Without it, a new key is made. */
  readonly key?: string;
  readonly notBefore?: Date;
  readonly notAfter?: Date;
}

/** Makes an X.509 v3 certificate (RFC 5280) with a new P-256 key, for servers and clients. Needs no program but Node. */
export function createCertificate(options: CertificateOptions): Certificate {
  const privateKey = createPrivateKey(options.key ?? createKey());
  const publicKey = createPublicKey(privateKey);
  const issuerKey = options.issuer ? createPrivateKey(options.issuer.key) : privateKey;
  const subject = name(options.commonName);
  const subjectKey = publicKey.export({ type: "spki", format: "der" });
  const body = der.sequence(
    der.context(0, der.integer(Buffer.from([2]))),
    der.integer(serialNumber()),
    ecdsaWithSha256,
    options.issuer ? name(commonNameOf(options.issuer)) : subject,
    der.sequence(
      der.utcTime(options.notBefore ?? new Date(Date.now() - DAY_MS)),
      der.utcTime(options.notAfter ?? new Date(Date.now() + 30 * DAY_MS)),
    ),
    subject,
    subjectKey,
    der.context(3, der.sequence(...extensions(options))),
  );
  const signature = sign("sha256", body, issuerKey);
  const certificate = der.sequence(body, ecdsaWithSha256, der.bitString(signature));
  return {
    cert: pem("CERTIFICATE", certificate),
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}

/** Makes a new P-256 key in PEM. */
export function createKey(): string {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return privateKey.export({ type: "pkcs8", format: "pem" }).toString();
}

export interface SigningRequestOptions {
  /** The requester's key in PEM. */
  readonly key: string;
  readonly commonName: string;
  readonly altNames?: readonly string[];
}

/** Makes a certificate signing request (RFC 2986) in PEM. */
export function createSigningRequest({ key, commonName, altNames = [] }: SigningRequestOptions): string {
  const subjectKey = createPublicKey(key).export({ type: "spki", format: "der" });
  const names = extension("2.5.29.17", false, der.sequence(...altNames.map(altName)));
  const requested = der.sequence(der.objectIdentifier("1.2.840.113549.1.9.14"), der.set(der.sequence(names)));
  const attributes = altNames.length > 0 ? requested : Buffer.alloc(0);
  const body = der.sequence(
    der.integer(Buffer.from([0])),
    name(commonName),
    subjectKey,
    der.context(0, attributes),
  );
  const signature = sign("sha256", body, createPrivateKey(key));
  return pem("CERTIFICATE REQUEST", der.sequence(body, ecdsaWithSha256, der.bitString(signature)));
}

/** Returns the SHA-256 fingerprint in lower-case hex without colons, the form of `tls.fingerprint`. */
export function fingerprintOf(certificate: Certificate): string {
  return createHash("sha256").update(new X509Certificate(certificate.cert).raw).digest("hex");
}

const ecdsaWithSha256 = der.sequence(der.objectIdentifier("1.2.840.10045.4.3.2"));

function extensions(options: CertificateOptions): Buffer[] {
  const authority = options.authority ?? false;
  const list = [
    extension("2.5.29.19", true, authority ? der.sequence(der.boolean(true)) : der.sequence()),
    // keyCertSign and cRLSign for an authority, digitalSignature for other certificates.
    extension(
      "2.5.29.15",
      true,
      authority ? der.bitString(Buffer.from([0x06]), 1) : der.bitString(Buffer.from([0x80]), 7),
    ),
  ];
  if (!authority) {
    const serverAndClient = ["1.3.6.1.5.5.7.3.1", "1.3.6.1.5.5.7.3.2"].map(der.objectIdentifier);
    list.push(extension("2.5.29.37", false, der.sequence(...serverAndClient)));
  }
  if (options.altNames && options.altNames.length > 0) {
    list.push(extension("2.5.29.17", false, der.sequence(...options.altNames.map(altName))));
  }
  return list;
}

function extension(id: string, critical: boolean, value: Buffer): Buffer {
  const flag = critical ? [der.boolean(true)] : [];
  return der.sequence(der.objectIdentifier(id), ...flag, der.octetString(value));
}

function altName(text: string): Buffer {
  return isIP(text)
    ? der.contextPrimitive(7, addressBytes(text))
    : der.contextPrimitive(2, Buffer.from(text));
}

function addressBytes(address: string): Buffer {
  if (isIP(address) === 4) return Buffer.from(address.split(".").map(Number));
  const compact = new SocketAddress({ address, family: "ipv6" }).address;
  const [head = "", tail] = compact.split("::");
  const before = head.split(":").filter(Boolean);
  const after = (tail ?? "").split(":").filter(Boolean);
  const groups = [...before, ...Array<string>(8 - before.length - after.length).fill("0"), ...after];
  return Buffer.from(groups.map((group) => group.padStart(4, "0")).join(""), "hex");
}

function name(commonName: string): Buffer {
  return der.sequence(der.set(der.sequence(der.objectIdentifier("2.5.4.3"), der.utf8String(commonName))));
}

function commonNameOf(certificate: Certificate): string {
  return new X509Certificate(certificate.cert).subject.replace(/^CN=/, "");
}

function serialNumber(): Buffer {
  const bytes = randomBytes(16);
  // Positive and without a leading zero byte, which DER forbids.
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return bytes;
}

function pem(label: string, bytes: Buffer): string {
  const lines = bytes.toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----\n`;
}
