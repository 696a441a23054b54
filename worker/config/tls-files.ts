import { defined } from "../../shared/defined.ts";
import { type CrossCheck, needs } from "./cross-check.ts";
import type { ReadNamed } from "./part.ts";
import { certificates, keyOfCertificate, type NamedText, type SecretFile } from "./pem.ts";

/** The settings that name the files of one TLS end. */
export interface TlsSettings<Name extends string> {
  readonly certificate: Name;
  readonly key: Name;
  /** Authorities of the other end's certificates. */
  readonly ca: Name;
}

/** Certificate and key of one TLS end, and the authorities of the other end's certificates. */
export interface TlsFiles {
  /** With its chain; never without `key`. */
  readonly certificate?: NamedText;
  readonly key?: SecretFile;
  readonly ca?: NamedText;
}

export function tlsRules<Name extends string>({
  certificate,
  key,
}: TlsSettings<Name>): readonly CrossCheck<Readonly<Record<Name, unknown>>>[] {
  return [
    needs(certificate, key, `needs its private key: set {${key}}`),
    needs(key, certificate, `needs its certificate: set {${certificate}}`),
  ];
}

/** Reads and checks the files that the settings name. */
export function readTlsFiles<Name extends string>(
  names: TlsSettings<Name>,
  settings: Readonly<Record<Name, unknown>>,
  read: ReadNamed,
): TlsFiles {
  const pathOf = (name: Name) => {
    const path = settings[name];
    return typeof path === "string" ? path : undefined;
  };
  const textIn = (name: Name) =>
    read(name, pathOf(name), (text, path) => ({ path, text: certificates(text) }));
  const certificate = textIn(names.certificate);
  const key = read(names.key, pathOf(names.key), (text, path) => ({
    path,
    text: keyOfCertificate(text, certificate),
  }));
  return defined({ certificate, key, ca: textIn(names.ca) });
}
