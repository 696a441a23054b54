import { createPrivateKey, X509Certificate } from "node:crypto";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { defined } from "../../shared/defined.ts";
import type { Problem } from "../../shared/document/problem.ts";
import { Secret } from "../../shared/secret.ts";
import { FileProblem, fileProblemOf, type ReadTextFile } from "../document/read-text-file.ts";
import { readSecretText } from "../machines/secret-text.ts";
import { type EngineTls, parseEngineAddress } from "../runtimes/docker/engine-address.ts";
import { type GivenSetting, settingProblem } from "./given-values.ts";
import { parseJwtPublicKeys, parseJwtSecrets } from "./jwt-keys.ts";
import { type SettingName, type Settings, settings as table } from "./schema.ts";
import { Tokens } from "./tokens.ts";

/** A file and its content. */
export interface NamedText {
  readonly path: string;
  readonly text: string;
}

/** A file whose content is secret. */
interface SecretFile {
  readonly path: string;
  readonly text: Secret;
}

/** TLS of an address that the worker serves. */
export interface TlsFiles {
  /** With its chain; never without `key`. */
  readonly certificate?: NamedText;
  readonly key?: SecretFile;
  readonly clientCa?: NamedText;
}

/** What protects the pages that the worker serves. Without any of them: plain HTTP for everyone. */
export interface HttpFiles extends TlsFiles {
  readonly token?: SecretFile;
}

/** What protects PBnJ's API. Without any of them: plaintext for everyone. */
export interface ApiFiles extends TlsFiles {
  readonly jwtSecret?: SecretFile;
  readonly jwtKeys?: NamedText;
}

/** The content of the files that settings name. */
export interface NamedFiles {
  readonly ca?: string;
  readonly clientCertificate?: string;
  readonly clientKey?: Secret;
  readonly registryPassword?: Secret;
  /** For a container engine behind TLS. */
  readonly engineTls?: EngineTls;
  /** For the pages that the worker serves. */
  readonly http: HttpFiles;
  readonly pbnj: ApiFiles;
}

interface NamedFilesInput {
  readonly settings: Settings;
  readonly given: ReadonlyMap<string, GivenSetting>;
  readonly readFile: ReadTextFile;
  /** `run` serves nothing. */
  readonly command: "start" | "serve" | "run";
}

/** Reads and checks the files that settings name. Problems name the file, never its content. */
export function readNamedFiles({ settings, given, readFile, command }: NamedFilesInput): {
  readonly files: NamedFiles;
  readonly problems: readonly Problem[];
} {
  const problems: Problem[] = [];
  const read = <T>(
    name: SettingName,
    path: string | undefined,
    use: (text: string, path: string) => T,
  ): T | undefined => {
    if (path === undefined) return undefined;
    try {
      return use(readFile(path), path);
    } catch (thrown) {
      problems.push(settingProblem(name, `${path} ${fileProblemOf(thrown)}`, given, table));
      return undefined;
    }
  };
  const ca = read("grpcCaFile", settings.grpcCaFile, certificates);
  const clientCertificate = read("grpcClientCertFile", settings.grpcClientCertFile, certificates);
  const clientKey = read("grpcClientKeyFile", settings.grpcClientKeyFile, privateKey);
  const registryPassword = read(
    "registryPassFile",
    settings.registryPassFile,
    (text) => new Secret(readSecretText(text)),
  );
  if (clientCertificate && clientKey && !belongTogether(clientCertificate, clientKey)) {
    const { grpcClientCertFile: cert, grpcClientKeyFile: key } = settings;
    const message = `${key} is not the key of the certificate in ${cert}`;
    problems.push(settingProblem("grpcClientKeyFile", message, given, table));
  }
  const engineTls = readEngineTls(settings, read);
  const http = command !== "run" && settings.httpAddress !== "off" ? readHttpFiles(settings, read) : {};
  const pbnj = command !== "run" && settings.pbnjAddress !== undefined ? readApiFiles(settings, read) : {};
  return {
    files: { ...defined({ ca, clientCertificate, clientKey, registryPassword, engineTls }), http, pbnj },
    problems,
  };
}

type Read = <T>(
  name: SettingName,
  path: string | undefined,
  use: (text: string, path: string) => T,
) => T | undefined;

/** The files have the names that every Docker client uses. */
function readEngineTls(settings: Settings, read: Read): EngineTls | undefined {
  const { runtime, dockerSocket, dockerTls, dockerCertPath } = settings;
  const isRemote = runtime === "docker" && parseEngineAddress(dockerSocket)?.remote !== undefined;
  if (!isRemote || (!dockerTls && dockerCertPath === undefined)) return undefined;
  const folder = dockerCertPath ?? dockerFolder(settings) ?? ".";
  const place = (name: string) => join(folder, name);
  const ca = read("dockerCertPath", place("ca.pem"), certificates);
  const certificate = read("dockerCertPath", place("cert.pem"), certificates);
  const key = read("dockerCertPath", place("key.pem"), (text, path) => {
    const secret = privateKey(text);
    if (!certificate || belongTogether(certificate, secret)) return secret;
    throw new FileProblem(`is not the key of the certificate in ${join(dirname(path), "cert.pem")}`);
  });
  return ca && certificate && key ? { ca, certificate, key } : undefined;
}

/** The folder of a Docker client; undefined for a user without a home directory. */
export function dockerFolder({ dockerConfig }: Pick<Settings, "dockerConfig">): string | undefined {
  if (dockerConfig !== undefined) return dockerConfig;
  try {
    return join(homedir(), ".docker");
  } catch {
    return undefined;
  }
}

function readHttpFiles(settings: Settings, read: Read): HttpFiles {
  const token = read("httpTokenFile", settings.httpTokenFile, (text, path) => {
    Tokens.parse(text);
    return { path, text: new Secret(text) };
  });
  return { ...defined({ token }), ...readTlsFiles("http", settings, read) };
}

function readApiFiles(settings: Settings, read: Read): ApiFiles {
  const jwtSecret = read("pbnjJwtSecretFile", settings.pbnjJwtSecretFile, (text, path) => {
    parseJwtSecrets(text);
    return { path, text: new Secret(text) };
  });
  const jwtKeys = read("pbnjJwtKeyFile", settings.pbnjJwtKeyFile, (text, path) => {
    parseJwtPublicKeys(text);
    return { path, text };
  });
  return { ...defined({ jwtSecret, jwtKeys }), ...readTlsFiles("pbnj", settings, read) };
}

function readTlsFiles(address: "http" | "pbnj", settings: Settings, read: Read): TlsFiles {
  const [certFile, keyFile, clientCaFile] = [
    `${address}CertFile`,
    `${address}KeyFile`,
    `${address}ClientCaFile`,
  ] as const;
  const certificate = read(certFile, settings[certFile], (text, path) => ({
    path,
    text: certificates(text),
  }));
  const key = read(keyFile, settings[keyFile], (text, path) => {
    const secret = privateKey(text);
    if (certificate && !belongTogether(certificate.text, secret)) {
      throw new FileProblem(`is not the key of the certificate in ${certificate.path}`);
    }
    return { path, text: secret };
  });
  const clientCa = read(clientCaFile, settings[clientCaFile], (text, path) => ({
    path,
    text: certificates(text),
  }));
  return defined({ certificate, key, clientCa });
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

export function belongTogether(certificate: string, key: Secret): boolean {
  return new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key.reveal()));
}
