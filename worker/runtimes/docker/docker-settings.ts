import { homedir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { defined } from "../../../shared/defined.ts";
import { Secret } from "../../../shared/secret.ts";
import { type CrossCheck, needs } from "../../config/cross-check.ts";
import type { ConfigPart, Loading } from "../../config/part.ts";
import { certificates, keyOfCertificate } from "../../config/pem.ts";
import { type SettingsOf, setting } from "../../config/setting.ts";
import { readSecretText } from "../../document/secret-text.ts";
import { ContainerPids, Text, Toggle } from "../../document/value-types.ts";
import { type ContainerSettings, containerConfig } from "../container-settings.ts";
import {
  DEFAULT_SOCKET,
  type EngineAddress,
  type EngineTls,
  mustHaveTls,
  parseEngineAddress,
} from "./engine-address.ts";
import { parseRegistryName, type RegistryLoginOptions } from "./registry-login.ts";

const engine = {
  dockerSocket: setting(Text.prefault(DEFAULT_SOCKET), {
    description: "Container engine: the path of its socket, `unix:///path` or `tcp://host:port`",
    type: "path or URL",
    aliases: ["AGENT_DOCKER_SOCKET", "DOCKER_HOST"],
    chart: "none",
  }),
  dockerTls: setting(Toggle.prefault(false), {
    description: "Use TLS for an engine at a tcp address; its certificate is always verified",
    aliases: ["DOCKER_TLS_VERIFY"],
    chart: "none",
  }),
  dockerCertPath: setting(Text.optional(), {
    description:
      "Folder with `ca.pem`, `cert.pem` and `key.pem` for an engine at a tcp address; includes TLS",
    type: "folder",
    aliases: ["DOCKER_CERT_PATH"],
    defaultText: "the folder of `dockerConfig`",
    chart: "none",
  }),
  dockerConfig: setting(Text.optional(), {
    description: "Folder of a Docker client, with `config.json` from `docker login`",
    type: "folder",
    aliases: ["DOCKER_CONFIG"],
    defaultText: "`~/.docker`",
    chart: "none",
  }),
  dockerNetwork: setting(Text.prefault("bridge"), {
    description: "Network that containers join",
    type: "name",
    chart: "none",
  }),
  pidsLimit: setting(ContainerPids.prefault("64"), {
    description: "Maximum number of processes and threads per container",
    type: "number",
    chart: "none",
    policyTest: true,
  }),
};
const registry = {
  registryName: setting(Text.prefault("docker.io"), {
    description: "Registry for the user and password below; for more registries, use the login file",
    type: "host[:port]",
    aliases: ["AGENT_REGISTRY_NAME", "DOCKER_REGISTRY"],
    chart: "none",
  }),
  registryUser: setting(Text.optional(), {
    description: "User for pulling images",
    type: "name",
    aliases: ["AGENT_REGISTRY_USER", "REGISTRY_USERNAME"],
    chart: "none",
  }),
  registryPass: setting(
    z
      .string()
      .min(1)
      .transform((text) => new Secret(text))
      .optional(),
    {
      description: "Password for pulling images; only as an environment variable",
      type: "text",
      aliases: ["AGENT_REGISTRY_PASS", "REGISTRY_PASSWORD"],
      noFlag: "every user of the host could read it",
      noFileKey: "is a password: put it in a separate file and set registryPassFile to its path",
    },
  ),
  registryPassFile: setting(Text.optional(), {
    description: "File that contains the password",
    type: "file",
    chart: "none",
  }),
  registryLoginFile: setting(Text.optional(), {
    description:
      "Logins of any number of registries and credential helpers, as `docker login` or `podman login` writes them",
    type: "file",
    aliases: ["REGISTRY_AUTH_FILE"],
    defaultText: "`config.json` in the folder of `dockerConfig`, if it exists",
    chart: "none",
  }),
};
type Given = SettingsOf<typeof engine> & SettingsOf<typeof registry> & { readonly runtime: string };

const addressIn = ({ dockerSocket, dockerTls, dockerCertPath }: Given) =>
  parseEngineAddress(dockerSocket, dockerTls || dockerCertPath !== undefined);

const engineRules: readonly CrossCheck<Given>[] = [
  {
    settings: ["dockerSocket"],
    broken: (given) => given.runtime === "docker" && addressIn(given) === undefined,
    message:
      "must be the path of a socket, unix:///path or tcp://host:port; for an engine that is reached with ssh, forward its socket",
  },
  {
    settings: ["dockerSocket", "dockerCertPath"],
    broken: (given) => {
      const { runtime, dockerTls, dockerCertPath } = given;
      const address = runtime === "docker" ? addressIn(given) : undefined;
      return address !== undefined && mustHaveTls(address) && !dockerTls && dockerCertPath === undefined;
    },
    message:
      "needs TLS on another host, because the engine receives BMC passwords: set {dockerCertPath} to the folder with ca.pem, cert.pem and key.pem",
  },
];

const registryRules: readonly CrossCheck<Given>[] = [
  {
    settings: ["registryName"],
    broken: ({ runtime, registryName }) =>
      runtime === "docker" && parseRegistryName(registryName) === undefined,
    message:
      "must be a registry's host, optionally with a port, such as registry.example:5000; the path belongs into the names of images",
  },
  {
    settings: ["registryPassFile", "registryPass"],
    broken: (given) => given.registryPassFile !== undefined && given.registryPass !== undefined,
    message: "conflicts with {registryPass}: set only one of them",
  },
  {
    settings: ["registryUser", "registryPass", "registryPassFile"],
    broken: ({ registryUser, registryPass, registryPassFile }) =>
      registryUser !== undefined && registryPass === undefined && registryPassFile === undefined,
    message: "needs a password: set {registryPassFile}",
  },
  needs("registryPass", "registryUser", "needs a user: set {registryUser}"),
  needs("registryPassFile", "registryUser", "needs a user: set {registryUser}"),
];

export interface DockerConfig extends ReturnType<typeof containerConfig> {
  readonly engine: EngineAddress;
  readonly network: string;
  readonly pids: number;
  readonly logins: RegistryLoginOptions;
}

/** The configuration of the docker runtime, from valid settings. */
export function dockerConfig(given: Given & ContainerSettings, { read }: Loading): DockerConfig {
  return {
    engine: engineAddress(given, read),
    network: given.dockerNetwork,
    ...containerConfig(given),
    pids: given.pidsLimit,
    logins: registryLogins(given, read),
  };
}

function engineAddress(given: Given, read: Loading["read"]): EngineAddress {
  const { dockerSocket } = given;
  const tls = engineTls(given, read);
  const address = parseEngineAddress(dockerSocket, tls !== undefined) ?? { socketPath: dockerSocket };
  return address.remote ? { remote: { ...address.remote, ...defined({ tls }) } } : address;
}

/** Reads the TLS files, which have the names that every Docker client uses. */
function engineTls(given: Given, read: Loading["read"]): EngineTls | undefined {
  const { dockerSocket, dockerTls, dockerCertPath } = given;
  const isRemote = parseEngineAddress(dockerSocket)?.remote !== undefined;
  if (!isRemote || (!dockerTls && dockerCertPath === undefined)) return undefined;
  const folder = dockerCertPath ?? clientFolder(given) ?? ".";
  const place = (name: string) => join(folder, name);
  const ca = read("dockerCertPath", place("ca.pem"), certificates);
  const certificate = read("dockerCertPath", place("cert.pem"), (text, path) => ({
    path,
    text: certificates(text),
  }));
  const key = read("dockerCertPath", place("key.pem"), (text) => keyOfCertificate(text, certificate));
  return ca && certificate && key ? { ca, certificate: certificate.text, key } : undefined;
}

/** The folder of the Docker client; undefined for a user without a home directory. */
function clientFolder({ dockerConfig: folder }: Given): string | undefined {
  if (folder !== undefined) return folder;
  try {
    return join(homedir(), ".docker");
  } catch {
    return undefined;
  }
}

function registryLogins(given: Given, read: Loading["read"]): RegistryLoginOptions {
  const fromFile = read(
    "registryPassFile",
    given.registryPassFile,
    (text) => new Secret(readSecretText(text)),
  );
  const password = fromFile ?? given.registryPass;
  const { registryUser: username, registryLoginFile } = given;
  const name = parseRegistryName(given.registryName) ?? given.registryName;
  const folder = clientFolder(given);
  const loginFile = registryLoginFile ?? (folder && join(folder, "config.json"));
  return {
    registries: username && password ? [{ registry: name, username, password }] : [],
    loginFile,
  };
}

export const engineSettings = {
  group: "Docker runtime",
  settings: engine,
  rules: engineRules,
} satisfies ConfigPart<Given>;

export const registrySettings = {
  group: "Image registry",
  settings: registry,
  rules: registryRules,
} satisfies ConfigPart<Given>;
