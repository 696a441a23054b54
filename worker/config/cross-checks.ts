import type { Problem } from "../../shared/document/problem.ts";
import { DRIFT_AGENT_ID, PBNJ_AGENT_ID, RUFIO_AGENT_ID } from "../core/action/source-agent-ids.ts";
import { mustHaveTls, parseEngineAddress } from "../runtimes/docker/engine-address.ts";
import { parseRegistryName } from "../runtimes/docker/registry-login.ts";
import { type ConfigCommand, type CrossCheck, needs } from "./cross-check.ts";
import { type GivenSetting, nameOf, settingProblem } from "./given-values.ts";
import { isOwnSource } from "./machine-source-list.ts";
import type { SettingName, Settings } from "./schema.ts";
import { addressConcerns, addressRules, servedAddresses } from "./served-addresses.ts";
import type { Setting } from "./setting.ts";

const needsTls = (name: SettingName): CrossCheck =>
  needs(name, "grpcTls", "has no meaning without TLS: set {grpcTls} as well");

const engineOf = ({ dockerSocket, dockerTls, dockerCertPath }: Settings) =>
  parseEngineAddress(dockerSocket, dockerTls || dockerCertPath !== undefined);

const RULES: readonly CrossCheck[] = [
  {
    settings: ["grpcServer", "rufio"],
    not: ["run", "serve"],
    broken: ({ grpcServer, rufio }) => grpcServer === undefined && !rufio,
    message: "is missing: the tink server's address, host:port",
  },
  {
    settings: ["agentId", "inventory", "kubernetesInventory", "kubernetesSources"],
    not: ["run", "serve"],
    broken: ({ agentId, inventory, kubernetesInventory, kubernetesSources, rufio }) =>
      [agentId, kubernetesInventory, kubernetesSources].every(({ length }) => length === 0) &&
      inventory === undefined &&
      !rufio,
    message: "is missing, and so is {inventory}: the worker has no agent ID to poll with",
  },
  {
    settings: ["kubernetesSources", "kubernetesInventory", "rufio"],
    broken: ({ kubernetesSources, kubernetesInventory, rufio }) =>
      kubernetesSources.some(isOwnSource) && (kubernetesInventory.length > 0 || rufio),
    message:
      "has an entry for the worker's own cluster, which {kubernetesInventory} or {rufio} selects as well: remove one of them",
  },
  {
    settings: ["kubernetesSources", "rufio"],
    broken: ({ kubernetesSources, rufio }) =>
      rufio && kubernetesSources.some(({ prefix }) => prefix === undefined),
    message:
      "needs a prefix in each entry, because of {rufio}: a Rufio Job names a Machine of the worker's own cluster",
  },
  {
    settings: ["leaderElection", "runtime"],
    not: ["run"],
    broken: ({ leaderElection, runtime }) => leaderElection && runtime !== "kubernetes",
    message: "needs {runtime} kubernetes: the next leader can only adopt actions that run in the cluster",
  },
  {
    settings: ["shard", "pbnjAddress"],
    not: ["run", "serve"],
    broken: ({ shard, pbnjAddress }) => pbnjAddress !== undefined && shard !== undefined && shard.of > 1,
    message: "cannot be used with {pbnjAddress}: requests to PBnJ's API are for machines of all shards",
  },
  {
    settings: ["agentId", "pbnjAddress"],
    not: ["run"],
    broken: ({ agentId, pbnjAddress }) => pbnjAddress !== undefined && agentId.includes(PBNJ_AGENT_ID),
    message: `holds ${PBNJ_AGENT_ID}, which is reserved for PBnJ's API: choose another one`,
  },
  {
    settings: ["agentId", "driftInterval"],
    not: ["run", "serve"],
    broken: ({ agentId, driftInterval }) => driftInterval !== undefined && agentId.includes(DRIFT_AGENT_ID),
    message: `holds ${DRIFT_AGENT_ID}, which is reserved for corrections: choose another one`,
  },
  {
    settings: ["agentId", "rufio"],
    not: ["run"],
    broken: ({ agentId, rufio }) => rufio && agentId.includes(RUFIO_AGENT_ID),
    message: `holds ${RUFIO_AGENT_ID}, which is reserved for Rufio's Jobs: choose another one`,
  },
  needsTls("grpcInsecureTls"),
  needsTls("grpcCaFile"),
  needsTls("grpcClientCertFile"),
  needsTls("grpcServerName"),
  {
    settings: ["grpcInsecureTls", "grpcCaFile"],
    broken: ({ grpcInsecureTls, grpcCaFile }) => grpcInsecureTls && grpcCaFile !== undefined,
    message: "accepts any certificate, so {grpcCaFile} has no effect: set only one of them",
  },
  needs("grpcClientCertFile", "grpcClientKeyFile", "needs its private key: set {grpcClientKeyFile}"),
  needs("grpcClientKeyFile", "grpcClientCertFile", "needs its certificate: set {grpcClientCertFile}"),
  ...servedAddresses.flatMap(addressRules),
  ...(["pbnjJwtIssuer", "pbnjJwtAudience"] as const).map(
    (name): CrossCheck => ({
      settings: [name, "pbnjJwtKeyFile", "pbnjJwtSecretFile"],
      broken: (settings) =>
        settings[name] !== undefined &&
        settings.pbnjJwtKeyFile === undefined &&
        settings.pbnjJwtSecretFile === undefined,
      message: "has no effect without tokens: set {pbnjJwtKeyFile} or {pbnjJwtSecretFile}",
    }),
  ),
  {
    settings: ["dockerSocket"],
    broken: (settings) => settings.runtime === "docker" && engineOf(settings) === undefined,
    message:
      "must be the path of a socket, unix:///path or tcp://host:port; for an engine that is reached with ssh, forward its socket",
  },
  {
    settings: ["dockerSocket", "dockerCertPath"],
    broken: (settings) => {
      const { runtime, dockerTls, dockerCertPath } = settings;
      const address = runtime === "docker" ? engineOf(settings) : undefined;
      return address !== undefined && mustHaveTls(address) && !dockerTls && dockerCertPath === undefined;
    },
    message:
      "needs TLS on another host, because the engine receives BMC passwords: set {dockerCertPath} to the folder with ca.pem, cert.pem and key.pem",
  },
  {
    settings: ["registryName"],
    broken: ({ runtime, registryName }) =>
      runtime === "docker" && parseRegistryName(registryName) === undefined,
    message:
      "must be a registry's host, optionally with a port, such as registry.example:5000; the path belongs into the names of images",
  },
  {
    settings: ["registryPassFile", "registryPass"],
    broken: (settings) => settings.registryPassFile !== undefined && settings.registryPass !== undefined,
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

const CONCERNS: readonly CrossCheck[] = [
  {
    settings: ["agentAttributes", "grpcApi"],
    not: ["run", "serve"],
    broken: ({ agentAttributes, grpcApi }) => agentAttributes && grpcApi === "legacy",
    message: "has no effect with {grpcApi} legacy: that API has no attributes",
  },
  {
    settings: ["metal3Managed", "kubernetesInventory", "kubernetesSources"],
    broken: ({ metal3Managed, kubernetesInventory, kubernetesSources }) =>
      metal3Managed !== "refuse" &&
      ![kubernetesInventory, ...kubernetesSources.map(({ inventory }) => inventory)]
        .flat()
        .includes("baremetalhosts"),
    message: "has no effect without BareMetalHosts: add baremetalhosts to {kubernetesInventory}",
  },
  {
    settings: ["unsafeAnyImage", "runtime"],
    broken: ({ unsafeAnyImage, runtime }) =>
      unsafeAnyImage && (runtime === "docker" || runtime === "kubernetes"),
    message: "trusts every image: any image that a workflow names receives the machine's BMC password",
  },
  ...servedAddresses.flatMap(addressConcerns),
  {
    settings: ["pollTimeout"],
    broken: ({ pollTimeout }) => pollTimeout < 61_000,
    message: "is shorter than one minute, for which the tink server holds a poll: polls will time out",
  },
  {
    settings: ["grpcInsecureTls"],
    broken: ({ grpcInsecureTls, grpcTls }) => grpcInsecureTls && grpcTls,
    message: "accepts any certificate: a man in the middle can make this worker run actions",
  },
];

export interface CrossCheckInput {
  /** All settings; those in `invalid` have their default. */
  readonly settings: Settings;
  readonly invalid: ReadonlySet<string>;
  readonly given: ReadonlyMap<string, GivenSetting>;
  readonly table: readonly Setting[];
  readonly command: ConfigCommand;
}

/** Problems between settings. Rules with an invalid setting are skipped until it is fixed. */
export function crossProblems(input: CrossCheckInput): readonly Problem[] {
  return broken(RULES, input);
}

/** What is valid but probably not intended. */
export function crossWarnings(input: CrossCheckInput): readonly Problem[] {
  return broken(CONCERNS, input);
}

function broken(checks: readonly CrossCheck[], input: CrossCheckInput): readonly Problem[] {
  const { given, table } = input;
  const called = (name: string): string => given.get(name)?.called ?? nameOf(name, table);
  return checks
    .filter(({ not }) => !not?.includes(input.command))
    .filter(({ settings }) => !settings.some((name) => input.invalid.has(name)))
    .filter((check) => check.broken(input.settings))
    .map(({ settings: [blamed], message }) => {
      const text = message.replace(/\{(\w+)\}/g, (_, name: string) => called(name));
      return settingProblem(blamed, text, given, table);
    });
}
