import { z } from "zod";
import { LOG_LEVELS } from "../../shared/logger.ts";
import { Secret } from "../../shared/secret.ts";
import {
  AnnotationPair,
  GroupName,
  LabelPair,
  NamespaceName,
  ObjectNameText,
  Toleration,
} from "../document/kubernetes-values.ts";
import {
  ActionImage,
  ByteSize,
  ContainerCpus,
  ContainerMemory,
  ContainerPids,
  Count,
  Duration,
  List,
  Text,
  Toggle,
} from "../document/value-types.ts";
import { AgentId, AgentIdPattern } from "../machines/agent-id.ts";
import { DEFAULT_SOCKET } from "../runtimes/docker/engine-address.ts";
import { HttpAddress, ListenAddressText, ServerAddress } from "./addresses.ts";
import { InventoryKind, MachineSources, WatchNamespace } from "./machine-source-list.ts";
import { setting, settingsOf } from "./setting.ts";
import { ShardText } from "./shard-text.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

const PEER_RUNTIMES: Readonly<Record<string, string>> = {
  containerd: "containerd is not supported: use docker, which works with any Docker Engine API",
};

/** Tinkerbell's agent reads it in any case. */
const Runtime = z.preprocess(
  (given) => (typeof given === "string" ? given.trim().toLowerCase() : given),
  z.enum(["process", "in-process", "docker", "kubernetes"], {
    error: ({ input }) => (typeof input === "string" ? PEER_RUNTIMES[input] : undefined),
  }),
);

/** Other workers use a number: 0 is info, larger numbers log more. */
const LogLevel = z.preprocess((given) => {
  const level = /^[+-]?\d+$/.test(String(given)) ? Number(given) : undefined;
  if (level === undefined) return given;
  return level > 0 ? "debug" : level === 0 ? "info" : level > -8 ? "warn" : "error";
}, z.enum(LOG_LEVELS));

/** `uid` or `uid:gid`. Names would be resolved in the image, where any name may be root. */
const ActionUser = z
  .union([z.string(), z.number()])
  .transform(String)
  .pipe(
    z.string().regex(/^[1-9]\d{0,9}(:[1-9]\d{0,9})?$/, {
      error: "must be a user ID, or user and group ID as in 65532:65532, neither of them 0",
    }),
  );

const files = {
  config: setting(Text.optional(), {
    description: "YAML file with settings; flags and environment variables override it",
    type: "file",
    noFileKey: "names the configuration file itself: set it with --config or PBNJ_CONFIG",
  }),
  inventory: setting(Text.optional(), {
    description: "YAML file that lists the machines and the sources of their credentials",
    type: "file",
    chart: { derivedFrom: "inventory.file or inventory.existing" },
  }),
  policy: setting(Text.optional(), {
    description: "YAML file that defines which actions may run",
    type: "file",
    defaultText: "none; `docker` and `kubernetes` need one",
    chart: { derivedFrom: "policy.file or policy.existing" },
  }),
  unsafeAnyImage: setting(Toggle.prefault(false), {
    description:
      "DANGER: trust every image: any image that a workflow names receives the machine's BMC password",
  }),
  stateDirectory: setting(Text.optional(), {
    description:
      "Folder for the worker's state, such as running and ended actions; each worker needs its own",
    type: "folder",
    defaultText: "`$XDG_STATE_HOME/pbnj-worker`, or `~/.local/state/pbnj-worker`",
    chart: { derivedFrom: "state.persistence" },
  }),
  reloadInterval: setting(Duration(0, HOUR).prefault("2s"), {
    description:
      "How often the worker checks the inventory, policy, token and certificate files for changes; 0 means never",
    type: "duration",
  }),
};

const agentIds = {
  agentId: setting(List(AgentId).prefault([]), {
    description: "Agent ID to poll with; repeat the flag or separate several with commas",
    type: "id",
    aliases: ["AGENT_ID", "ID", "WORKER_ID"],
    chart: { value: "agentIds" },
  }),
  agentIdPattern: setting(AgentIdPattern.prefault("pbnj-{machine}"), {
    description:
      "Pattern for the agent ID of each machine in the inventory; the worker also polls with these",
    type: "pattern",
    chart: { value: "agentIdPattern" },
  }),
  shard: setting(ShardText.optional(), {
    description:
      "Part of the agent IDs and machines that this worker serves, such as `0/4`; `auto/4` is the number at the end of the host's name, modulo 4",
    type: "n/m",
    defaultText: "all",
    chart: { derivedFrom: "shards" },
  }),
};

const tinkServer = {
  grpcServer: setting(ServerAddress.optional(), {
    description: "Address of the tink server; the default port is 42113; write IPv6 addresses in brackets",
    type: "host:port",
    aliases: ["AGENT_GRPC_SERVER", "TINKERBELL_GRPC_AUTHORITY"],
    chart: { value: "tink.address" },
  }),
  grpcApi: setting(z.enum(["auto", "current", "legacy"]).prefault("auto"), {
    description:
      "Workflow API of the tink server: current (Tinkerbell 0.17 and later), legacy (tink 0.8 to 0.12), or auto to detect it",
    chart: { value: "tink.api" },
  }),
  grpcTls: setting(Toggle.prefault(false), {
    description: "Use TLS to connect to the tink server",
    aliases: ["AGENT_GRPC_TLS", "TINKERBELL_TLS"],
    chart: { value: "tink.tls.enabled" },
  }),
  grpcInsecureTls: setting(Toggle.prefault(false), {
    description: "Accept any certificate from the tink server",
    aliases: ["AGENT_GRPC_INSECURE_TLS", "TINKERBELL_INSECURE_TLS"],
    chart: { value: "tink.tls.insecure" },
  }),
  grpcCaFile: setting(Text.optional(), {
    description: "PEM certificates to trust instead of the system's trust store",
    type: "file",
    chart: { derivedFrom: "tink.tls.ca" },
  }),
  grpcClientCertFile: setting(Text.optional(), {
    description: "PEM client certificate of the worker, with its chain",
    type: "file",
    chart: { derivedFrom: "tink.tls.clientSecret" },
  }),
  grpcClientKeyFile: setting(Text.optional(), {
    description: "PEM private key of that certificate",
    type: "file",
    chart: { derivedFrom: "tink.tls.clientSecret" },
  }),
  grpcServerName: setting(Text.optional(), {
    description: "Host name that the tink server's certificate must contain",
    type: "name",
    defaultText: "the server's host",
    chart: { value: "tink.tls.serverName" },
  }),
  pollTimeout: setting(Duration(SECOND, 10 * MINUTE).prefault("75s"), {
    description: "Timeout of one poll; the server holds a poll for up to one minute, so use a longer time",
    type: "duration",
  }),
  backoffMaxInterval: setting(Duration(100, HOUR).prefault("30s"), {
    description:
      "Maximum backoff between attempts of a call that the server refuses; a server that does not answer is tried every 5 s",
    type: "duration",
    aliases: ["AGENT_BACKOFF_MAX_INTERVAL"],
  }),
};

const hardware = {
  agentAttributes: setting(Toggle.prefault(false), {
    description:
      "Read each machine's hardware from its BMC and send it with the polls of its agent ID, so that WorkflowRuleSets can match it",
  }),
  hardwareMaxAge: setting(Duration(MINUTE, 365 * 24 * HOUR).prefault("24h"), {
    description: "Age at which the worker reads a machine's hardware again",
    type: "duration",
  }),
  driftInterval: setting(Duration(MINUTE, 365 * 24 * HOUR).optional(), {
    description: "How often the worker compares each machine with its desired state; without it, never",
    type: "duration",
  }),
  driftQuietTime: setting(Duration(MINUTE, 365 * 24 * HOUR).prefault("1h"), {
    description:
      "How long no other action must have used a machine before the worker corrects it, with `enforce` in its desired state",
    type: "duration",
  }),
  driftImage: setting(ActionImage.prefault("pbnj-worker/{action}:v{version}"), {
    description: "Image of the action that corrects a machine; must contain {action}",
    type: "image",
  }),
};

const actions = {
  maxActions: setting(Count(1, 100_000).optional(), {
    description:
      "Maximum number of actions that run at the same time, on all machines; started workflows come first",
    type: "count",
    defaultText: "1000 for in-process, else 8 per processor and at most 64",
  }),
  defaultActionTimeout: setting(Duration(SECOND, 168 * HOUR).prefault("1h"), {
    description: "Timeout of an action whose template sets none",
    type: "duration",
  }),
  stopGrace: setting(Duration(0, 10 * MINUTE).prefault("10s"), {
    description: "Time between asking an action to stop and killing it",
    type: "duration",
    chart: { value: "stopGrace" },
  }),
  shutdownGrace: setting(Duration(0, 168 * HOUR).prefault("5m"), {
    description: "Time that running actions have to finish after the worker's first SIGTERM",
    type: "duration",
    chart: { derivedFrom: "shutdownGrace" },
  }),
  runtime: setting(Runtime.prefault("process"), {
    description:
      "How to run actions: as child processes, inside the worker, in containers, or as Jobs in a cluster",
    aliases: ["AGENT_RUNTIME"],
    chart: { derivedFrom: "runtime.kind" },
  }),
};

const processRuntime = {
  actionsDirectory: setting(Text.optional(), {
    description: "Folder with the actions",
    type: "folder",
    defaultText: "the actions of this installation",
    chart: "none",
  }),
};

const dockerRuntime = {
  dockerSocket: setting(Text.prefault(DEFAULT_SOCKET), {
    description: "Container engine: the path of its socket, `unix:///path` or `tcp://host:port`",
    type: "path or URL",
    aliases: ["AGENT_DOCKER_SOCKET", "DOCKER_HOST"],
    chart: "none",
  }),
  dockerTls: setting(Toggle.prefault(false), {
    description: "Whether an engine at a tcp address is reached with TLS; its certificate is always verified",
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
  }),
};

const containers = {
  pullPolicy: setting(z.enum(["always", "if-missing", "never"]).prefault("if-missing"), {
    description: "When to pull images",
    chart: { value: "runtime.pods.pullPolicy" },
  }),
  actionUser: setting(ActionUser.prefault("65532:65532"), {
    description: "User and group ID for containers whose image sets no user, or root",
    type: "uid:gid",
    chart: { value: "runtime.pods.user" },
  }),
  memoryLimit: setting(ContainerMemory.prefault("256Mi"), {
    description: "Memory limit per container",
    type: "size",
    chart: { value: "runtime.pods.memoryLimit" },
  }),
  cpuLimit: setting(ContainerCpus.prefault("1"), {
    description: "CPU limit per container; fractions are allowed",
    type: "number",
    chart: { value: "runtime.pods.cpuLimit" },
  }),
};

const imageRegistry = {
  registryName: setting(Text.prefault("docker.io"), {
    description:
      "Registry to which the user and password below apply; further ones belong into the login file",
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

const kubernetes = {
  kubeconfig: setting(Text.optional(), {
    description: "Kubeconfig file for the cluster",
    type: "file",
    aliases: ["AGENT_KUBERNETES_KUBECONFIG"],
    defaultText: "the pod's own service account, else `$KUBECONFIG`, else `~/.kube/config`",
    chart: "none",
  }),
  kubernetesNamespace: setting(NamespaceName.optional(), {
    description: "Namespace of the worker's own objects: Jobs, copies of Secrets, Leases",
    type: "namespace",
    aliases: ["AGENT_KUBERNETES_NAMESPACE"],
    defaultText: "the pod's, else the kubeconfig context's, else `default`",
    chart: "none",
  }),
  watchNamespace: setting(WatchNamespace.optional(), {
    description: "Namespace to watch for Machines, Hardware, Workflows and Rufio Jobs; `*` means all",
    type: "namespace|*",
    defaultText: "the value of `kubernetesNamespace`",
    chart: { value: "watchNamespace" },
  }),
  kubernetesInventory: setting(List(InventoryKind).prefault([]), {
    description:
      "Cluster objects to add to the inventory as machines: Rufio's Machines, Tinkerbell's Hardware, Metal3's BareMetalHosts",
    chart: { value: "inventory.kubernetes" },
  }),
  kubernetesSources: setting(MachineSources.prefault([]), {
    description:
      "Clusters to read machines from: a list of name, identityRef or kubeconfig, and options; as JSON in the environment",
    type: "sources",
    noFlag: "is a list of objects",
    pathKeys: ["kubeconfig"],
    chart: { derivedFrom: "inventory.sources" },
  }),
  metal3Managed: setting(z.enum(["refuse", "via-host"]).prefault("refuse"), {
    description:
      "BareMetalHosts that Metal3 manages: refuse actions, or change their power through the BareMetalHost",
    chart: { value: "metal3.managed" },
  }),
  wakeUp: setting(z.enum(["auto", "on", "off"]).prefault("auto"), {
    description:
      "Watch Workflows, and poll with an idle agent ID only when a Workflow is addressed to it; auto enables this if the worker uses the cluster anyway",
    chart: { value: "wakeUp" },
  }),
  rufio: setting(Toggle.prefault(false), {
    description: "Do Rufio's work: its Jobs and Tasks, and the status of its Machines",
    chart: { value: "rufio.enabled" },
  }),
  rufioImage: setting(ActionImage.prefault("pbnj-worker/{action}:v{version}"), {
    description: "Image of the action that runs a Rufio task; must contain {action}",
    type: "image",
    chart: { derivedFrom: "rufio.image" },
  }),
  rufioStatusInterval: setting(Duration(0, 24 * HOUR).prefault("3m"), {
    description:
      "How often the worker reads the power state of each Rufio Machine; 0 means only after actions",
    type: "duration",
    chart: { value: "rufio.statusInterval" },
  }),
  rufioHardware: setting(Toggle.prefault(true), {
    description:
      "Write each machine's hardware to the status of its Hardware object; without the rights, this part is skipped",
    chart: { value: "rufio.hardware" },
  }),
  rufioLeaseNamespace: setting(NamespaceName.optional(), {
    description: "Namespace of the Lease that a running Rufio holds",
    type: "namespace",
    defaultText: "the value of `kubernetesNamespace`",
    chart: { value: "rufio.leaseNamespace" },
  }),
  rufioAlone: setting(Toggle.prefault(false), {
    description:
      "No Rufio runs in this cluster: start although it has never held its Lease, which a Rufio without leader election does not",
    chart: { value: "rufio.alone" },
  }),
  leaderElection: setting(Toggle.prefault(false), {
    description:
      "Work only as the leader of all workers that use the same Lease; the others wait and take over from it",
    chart: { derivedFrom: "leaderElection.enabled" },
  }),
  leaderElectionLease: setting(GroupName.prefault("pbnj-worker"), {
    description:
      "Name of that Lease, in the worker's namespace; with shards each one has its own, such as `pbnj-worker-0`",
    type: "name",
    chart: { derivedFrom: "leaderElection.lease" },
  }),
};

const pbnjApi = {
  pbnjAddress: setting(ListenAddressText.optional(), {
    description: "Address on which to serve PBnJ's API",
    type: "host:port",
    defaultText: "none; 127.0.0.1:50051 for `pbnj-worker serve`",
    chart: { derivedFrom: "pbnj.enabled" },
  }),
  pbnjAuth: setting(z.enum(["auto", "none"]).prefault("auto"), {
    description:
      "Who can call PBnJ's API: auto requires a token or client certificate beyond loopback, none allows everyone",
    chart: { value: "pbnj.auth" },
  }),
  pbnjJwtSecretFile: setting(Text.optional(), {
    description:
      "File with the secrets that sign the JSON Web Tokens of callers with HS256, one per line; reloaded when it changes",
    type: "file",
    chart: { derivedFrom: "pbnj.jwtSecretSecret" },
  }),
  pbnjJwtKeyFile: setting(Text.optional(), {
    description:
      "PEM public keys or JSON Web Key Set of the issuer of callers' JSON Web Tokens (RS256, ES256, EdDSA); reloaded when it changes",
    type: "file",
    chart: { derivedFrom: "pbnj.jwtKeySecret" },
  }),
  pbnjJwtIssuer: setting(Text.optional(), {
    description: "Issuer (`iss`) that tokens must have",
    type: "text",
    defaultText: "any",
    chart: { derivedFrom: "pbnj.issuer" },
  }),
  pbnjJwtAudience: setting(Text.optional(), {
    description: "Audience (`aud`) that tokens must have",
    type: "text",
    defaultText: "any",
    chart: { derivedFrom: "pbnj.audience" },
  }),
  pbnjCertFile: setting(Text.optional(), {
    description: "PEM certificate, with its chain, for TLS on PBnJ's API; reloaded when it changes",
    type: "file",
    chart: { derivedFrom: "pbnj.tlsSecret" },
  }),
  pbnjKeyFile: setting(Text.optional(), {
    description: "PEM private key of that certificate",
    type: "file",
    chart: { derivedFrom: "pbnj.tlsSecret" },
  }),
  pbnjClientCaFile: setting(Text.optional(), {
    description:
      "PEM certificates of the authorities for client certificates that can call PBnJ's API; reloaded when it changes",
    type: "file",
    chart: { derivedFrom: "pbnj.clientCaSecret" },
  }),
  pbnjImage: setting(ActionImage.prefault("pbnj-worker/{action}:v{version}"), {
    description: "Image of the action that does what a request of PBnJ's API asks for; must contain {action}",
    type: "image",
    chart: { derivedFrom: "pbnj.image" },
  }),
};

const kubernetesRuntime = {
  kubernetesServiceAccount: setting(ObjectNameText.optional(), {
    description: "Service account of the action pods, used to pull images; the pods get no token",
    type: "name",
    aliases: ["AGENT_KUBERNETES_SERVICE_ACCOUNT"],
    defaultText: "the namespace's `default`",
    chart: { value: "runtime.pods.serviceAccount" },
  }),
  podStartTimeout: setting(Duration(SECOND, HOUR).prefault("5m"), {
    description: "Time limit for scheduling an action's pod, pulling its image and starting its container",
    type: "duration",
    chart: { value: "runtime.pods.startTimeout" },
  }),
  podNodeSelector: setting(List(LabelPair).prefault([]), {
    description: "Label that nodes must have to run actions",
    type: "name=value",
    chart: { derivedFrom: "runtime.pods.nodeSelector" },
  }),
  podTolerations: setting(List(Toleration).prefault([]), {
    description: "Taint that actions tolerate; without a value, any value; without an effect, every effect",
    type: "key[=value][:effect]",
    chart: { derivedFrom: "runtime.pods.tolerations" },
  }),
  podPullSecrets: setting(List(ObjectNameText).prefault([]), {
    description: "Secret for pulling the images of actions",
    type: "name",
    chart: { value: "runtime.pods.pullSecrets" },
  }),
  podLabels: setting(List(LabelPair).prefault([]), {
    description: "Additional label for the Jobs and pods of actions",
    type: "name=value",
    chart: { derivedFrom: "runtime.pods.labels" },
  }),
  podAnnotations: setting(List(AnnotationPair).prefault([]), {
    description: "Additional annotation for the pods of actions",
    type: "name=value",
    chart: { derivedFrom: "runtime.pods.annotations" },
  }),
};

const operating = {
  httpAddress: setting(HttpAddress.optional(), {
    description: "Address on which to serve the status page, metrics and health; off disables them",
    type: "host:port|off",
    defaultText: "127.0.0.1:42180",
    chart: { derivedFrom: "service.host" },
  }),
  httpAuth: setting(z.enum(["auto", "none"]).prefault("auto"), {
    description:
      "Who can read the status page and metrics: auto requires a token or client certificate beyond loopback, none allows everyone",
    chart: { value: "http.auth" },
  }),
  httpTokenFile: setting(Text.optional(), {
    description:
      "File with the tokens for the status page and metrics, one per line; reloaded when it changes",
    type: "file",
    chart: { derivedFrom: "http.tokenSecret" },
  }),
  httpCertFile: setting(Text.optional(), {
    description: "PEM certificate, with its chain, for HTTPS; reloaded when it changes",
    type: "file",
    chart: { derivedFrom: "http.tlsSecret" },
  }),
  httpKeyFile: setting(Text.optional(), {
    description: "PEM private key of that certificate",
    type: "file",
    chart: { derivedFrom: "http.tlsSecret" },
  }),
  httpClientCaFile: setting(Text.optional(), {
    description:
      "PEM certificates of the authorities for client certificates that can read the status page and metrics; reloaded when it changes",
    type: "file",
    chart: { derivedFrom: "http.clientCaSecret" },
  }),
  actionLogDirectory: setting(Text.optional(), {
    description: "Folder for the action logs, with one file per action",
    type: "folder",
    defaultText: "`logs` in the state directory",
  }),
  actionLogDays: setting(Count(1, 3_650).prefault(14), {
    description: "Number of days to keep action logs",
    type: "days",
  }),
  actionLogMaxSize: setting(ByteSize(0, 1_024 ** 4).prefault("256Mi"), {
    description: "Maximum size of all action logs; the oldest are removed first; 0 keeps none",
    type: "size",
  }),
};

const log = {
  logLevel: setting(LogLevel.prefault("info"), {
    description: "Minimum level of the messages to write",
    aliases: ["AGENT_LOG_LEVEL"],
  }),
  logFormat: setting(z.enum(["auto", "json", "pretty"]).prefault("auto"), {
    description: "Log format: one JSON object per line, or readable text; auto uses text on a terminal",
  }),
};

/**
 * All settings of `pbnj-worker start`: the source of flags, environment variables, configuration file keys, defaults, the
 * reference page and the chart's schema. Durations are milliseconds, sizes bytes.
 */
export const Settings = z.object({
  ...files,
  ...agentIds,
  ...tinkServer,
  ...hardware,
  ...actions,
  ...processRuntime,
  ...dockerRuntime,
  ...containers,
  ...imageRegistry,
  ...pbnjApi,
  ...kubernetes,
  ...kubernetesRuntime,
  ...operating,
  ...log,
});
export type Settings = z.infer<typeof Settings>;
export type SettingName = keyof Settings;

export const settings = settingsOf({
  Files: files,
  "Agent IDs": agentIds,
  "Tink server": tinkServer,
  Hardware: hardware,
  Actions: actions,
  "Process runtime": processRuntime,
  "Docker runtime": dockerRuntime,
  Containers: containers,
  "Image registry": imageRegistry,
  "PBnJ API": pbnjApi,
  Kubernetes: kubernetes,
  "Kubernetes runtime": kubernetesRuntime,
  Operating: operating,
  Log: log,
});

/** The settings that determine whether actions may run. */
export const RULE_SETTINGS = [
  "config",
  "inventory",
  "policy",
  "agentIdPattern",
  "runtime",
  "unsafeAnyImage",
  "rufio",
  "rufioImage",
  "pbnjAddress",
  "pbnjImage",
  "pullPolicy",
  "memoryLimit",
  "cpuLimit",
  "pidsLimit",
] as const satisfies readonly SettingName[];

/** The settings of a worker that polls, which `pbnj-worker run` does not use. */
const STANDING = [
  ...["stateDirectory", "reloadInterval", "agentId", "maxActions", "shutdownGrace", "wakeUp"],
  ...["rufio", "rufioImage", "rufioStatusInterval", "rufioHardware", "rufioLeaseNamespace", "rufioAlone"],
  ...["leaderElection", "leaderElectionLease", "shard"],
] as const satisfies readonly SettingName[];

/** The settings of `pbnj-worker run`. */
export const RUN_SETTINGS = settings
  .filter(
    ({ group, name }) =>
      !["Tink server", "Hardware", "PBnJ API", "Operating"].includes(group) &&
      !STANDING.some((standing) => standing === name),
  )
  .map(({ name }) => name as SettingName);

/** Settings of other groups that need a tink server. */
const TINK_ONLY = ["wakeUp", "agentAttributes"] as const satisfies readonly SettingName[];

/** The settings of `pbnj-worker serve`. */
export const SERVE_SETTINGS = settings
  .filter(
    ({ group, name }) =>
      !["Agent IDs", "Tink server"].includes(group) && !TINK_ONLY.some((one) => one === name),
  )
  .map(({ name }) => name as SettingName);
