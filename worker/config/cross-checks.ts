import type { Problem } from "../../shared/document/problem.ts";
import { type GivenSetting, nameOf, settingProblem } from "./given-values.ts";
import { namesLoopback } from "./loopback.ts";
import { isOwnSource } from "./machine-sources.ts";
import { RUFIO_AGENT_ID } from "./rufio-agent-id.ts";
import type { SettingName, Settings } from "./schema.ts";
import type { Setting } from "./setting.ts";

/** A rule that involves several settings. */
interface CrossCheck {
  /** The setting to blame, then the others that the rule reads. */
  readonly settings: readonly [SettingName, ...SettingName[]];
  readonly broken: (settings: Settings) => boolean;
  /** Commands to which the rule does not apply. */
  readonly not?: "run";
  /** Follows the source of the blamed setting; `{name}` becomes the name by which that setting was given. */
  readonly message: string;
}

/** A setting that needs another one. */
const needs = (name: SettingName, other: SettingName, message: string): CrossCheck => ({
  settings: [name, other],
  broken: (settings) => isGiven(settings[name]) && !isGiven(settings[other]),
  message,
});

const needsTls = (name: SettingName): CrossCheck =>
  needs(name, "grpcTls", "has no meaning without TLS: set {grpcTls} as well");

const RULES: readonly CrossCheck[] = [
  {
    settings: ["grpcServer"],
    not: "run",
    broken: ({ grpcServer }) => grpcServer === undefined,
    message: "is missing: the tink server's address, host:port",
  },
  {
    settings: ["agentId", "inventory", "kubernetesInventory", "kubernetesSources"],
    not: "run",
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
    settings: ["shareLanes", "runtime"],
    not: "run",
    broken: ({ shareLanes, runtime }) => shareLanes && runtime !== "kubernetes",
    message: "needs {runtime} kubernetes: another replica can only adopt actions that run in the cluster",
  },
  {
    settings: ["agentId", "rufio"],
    not: "run",
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
  {
    settings: ["httpAddress", "httpAuth", "httpTokenFile", "httpClientCaFile"],
    not: "run",
    broken: (settings) => isExposed(settings) && settings.httpAuth !== "none" && !hasHttpAuth(settings),
    message:
      "is not a loopback address, so it needs authentication. Fix: set {httpTokenFile} or {httpClientCaFile}; or set {httpAuth} to none, and everyone who reaches the address can read status page and metrics",
  },
  {
    settings: ["httpAuth", "httpTokenFile", "httpClientCaFile"],
    broken: (settings) => settings.httpAuth === "none" && hasHttpAuth(settings),
    message: "is none, so {httpTokenFile} and {httpClientCaFile} have no effect: remove one or the other",
  },
  needs("httpCertFile", "httpKeyFile", "needs its private key: set {httpKeyFile}"),
  needs("httpKeyFile", "httpCertFile", "needs its certificate: set {httpCertFile}"),
  needs("httpClientCaFile", "httpCertFile", "needs TLS: set {httpCertFile} and {httpKeyFile}"),
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

function isGiven(value: Settings[SettingName]): boolean {
  return value !== undefined && value !== false;
}

/** Whether other hosts can reach the pages. */
function isExposed({ httpAddress }: Settings): boolean {
  if (typeof httpAddress !== "object") return false;
  const { host } = httpAddress;
  return !namesLoopback(host.includes(":") ? `[${host}]` : host);
}

function hasHttpAuth({ httpTokenFile, httpClientCaFile }: Settings): boolean {
  return httpTokenFile !== undefined || httpClientCaFile !== undefined;
}

const CONCERNS: readonly CrossCheck[] = [
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
  {
    settings: ["httpTokenFile", "httpAddress", "httpCertFile"],
    not: "run",
    broken: (settings) =>
      isExposed(settings) && settings.httpTokenFile !== undefined && settings.httpCertFile === undefined,
    message:
      "is used without TLS: anyone who can read the traffic can read the token. Set {httpCertFile}, unless a proxy encrypts the traffic",
  },
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
  readonly command: "start" | "run";
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
    .filter(({ not }) => not !== input.command)
    .filter(({ settings }) => !settings.some((name) => input.invalid.has(name)))
    .filter((check) => check.broken(input.settings))
    .map(({ settings: [blamed], message }) => {
      const text = message.replace(/\{(\w+)\}/g, (_, name: string) => called(name));
      return settingProblem(blamed, text, given, table);
    });
}
