import { createPrivateKey, X509Certificate } from "node:crypto";
import { FileProblem } from "../../shared/read-text-file.ts";
import { Secret } from "../../shared/secret.ts";

/** A file and its content. */
export interface NamedText {
  readonly path: string;
  readonly text: string;
}

/** A file whose content is secret. */
export interface SecretFile {
  readonly path: string;
  readonly text: Secret;
}

const BEGIN = "-----BEGIN CERTIFICATE-----";
const END = "-----END CERTIFICATE-----";

/** Throws a `FileProblem` unless the text contains valid PEM certificates. */
export function certificates(text: string): string {
  const [, ...begun] = text.split(BEGIN);
  const found = begun
    .filter((part) => part.includes(END))
    .map((part) => BEGIN + part.slice(0, part.indexOf(END)) + END);
  if (found.length === 0) throw new FileProblem("holds no PEM certificate");
  for (const pem of found) {
    try {
      new X509Certificate(pem);
    } catch {
      throw new FileProblem("holds a certificate that cannot be read");
    }
  }
  return text;
}

/** Throws a `FileProblem`. */
export function privateKey(text: string): Secret {
  try {
    createPrivateKey(text);
  } catch {
    throw new FileProblem("holds no PEM private key without a passphrase");
  }
  return new Secret(text);
}

/** Reads the key of a certificate; undefined if the file could not be read. Throws a `FileProblem`. */
export function keyOfCertificate(text: string, certificate: NamedText | undefined): Secret {
  const key = privateKey(text);
  if (!certificate || belongTogether(certificate.text, key)) return key;
  throw new FileProblem(`is not the key of the certificate in ${certificate.path}`);
}

export function belongTogether(certificate: string, key: Secret): boolean {
  return new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key.reveal()));
}
