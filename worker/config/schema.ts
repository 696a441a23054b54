import { z } from "zod";
import { Secret } from "../../shared/secret.ts";
import { ContainerCpus, ContainerMemory, ContainerPids } from "../document/container-limits.ts";
import { ByteSize, Count, Duration, List, Text, Toggle } from "../document/value-types.ts";
import { AgentId, AgentIdPattern } from "../inventory/agent-id.ts";
import { HttpAddress } from "./http-address.ts";
import {
  AnnotationPair,
  GroupName,
  LabelPair,
  NamespaceName,
  ObjectNameText,
  RufioImage,
  Toleration,
} from "./kubernetes-values.ts";
import { ServerAddress } from "./server-address.ts";
import { settingMeta, settingsOf } from "./setting.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

const PEER_RUNTIMES: Readonly<Record<string, string>> = {
  containerd: "containerd is not offered: use docker, which speaks to any Docker Engine API",
};

const Runtime = z.enum(["process", "in-process", "docker", "kubernetes"], {
  error: ({ input }) => (typeof input === "string" ? PEER_RUNTIMES[input] : undefined),
});

/** The other workers take a number, where 0 is info and a larger one says more. */
const LogLevel = z.preprocess(
  (given) => {
    const level = /^[+-]?\d+$/.test(String(given)) ? Number(given) : undefined;
    if (level === undefined) return given;
    return level > 0 ? "debug" : level === 0 ? "info" : level > -8 ? "warn" : "error";
  },
  z.enum(["debug", "info", "warn", "error"]),
);

/** `uid` or `uid:gid`. Names would be looked up in the image, where anybody may call root `nobody`. */
const ActionUser = z
  .union([z.string(), z.number()])
  .transform(String)
  .pipe(
    z.string().regex(/^[1-9]\d{0,9}(:[1-9]\d{0,9})?$/, {
      error: "must be a user ID, or user and group ID as in 65532:65532, neither of them 0",
    }),
  );

/**
 * Every setting of `pbnj-worker start`: the one source of flags, environment variables, keys of the
 * configuration file, defaults and the reference page. Durations are milliseconds, sizes bytes.
 */
export const Settings = z.object({
  config: Text.optional().register(settingMeta, {
    group: "Files",
    description: "YAML file with settings; flags and environment variables go before it",
    type: "file",
    noFileKey: "names the configuration file itself: give it as --config or PBNJ_CONFIG",
  }),
  inventory: Text.optional().register(settingMeta, {
    group: "Files",
    description: "YAML file with the machines and where their credentials are",
    type: "file",
    path: true,
  }),
  policy: Text.optional().register(settingMeta, {
    group: "Files",
    description: "YAML file that says which actions may run",
    type: "file",
    path: true,
    defaultText: "none; `docker` and `kubernetes` need one",
  }),
  unsafeAnyImage: Toggle.prefault(false).register(settingMeta, {
    group: "Files",
    description:
      "DANGER: trust every image: any image that a workflow names receives its machine's BMC password",
    type: "true|false",
  }),

  stateDirectory: Text.optional().register(settingMeta, {
    group: "Files",
    description: "Folder of this worker alone for what must survive it: which actions run, which ended",
    type: "folder",
    path: true,
    defaultText: "`$XDG_STATE_HOME/pbnj-worker`, or `~/.local/state/pbnj-worker`",
  }),
  reloadInterval: Duration(0, HOUR).prefault("2s").register(settingMeta, {
    group: "Files",
    description:
      "How often inventory, policy, and the files of tokens and certificates are checked for changes; 0 is never",
    type: "duration",
  }),

  agentId: List(AgentId)
    .prefault([])
    .register(settingMeta, {
      group: "Agent IDs",
      description: "Agent ID to poll for work; repeat the flag or separate with commas for several",
      type: "id",
      aliases: ["AGENT_ID", "ID", "WORKER_ID"],
      repeatable: true,
    }),
  agentIdPattern: AgentIdPattern.prefault("pbnj-{machine}").register(settingMeta, {
    group: "Agent IDs",
    description: "Agent ID of each machine of the inventory, which is polled for as well",
    type: "pattern",
  }),

  grpcServer: ServerAddress.optional().register(settingMeta, {
    group: "Tink server",
    description:
      "Address of the tink server; the port is 42113 unless given, IPv6 addresses stand in brackets",
    type: "host:port",
    aliases: ["AGENT_GRPC_SERVER", "TINKERBELL_GRPC_AUTHORITY"],
  }),
  grpcApi: z.enum(["auto", "current", "legacy"]).prefault("auto").register(settingMeta, {
    group: "Tink server",
    description:
      "Which workflow API it speaks: that of Tinkerbell 0.17 and later, that of tink 0.8 to 0.12, or ask it",
    type: "auto|current|legacy",
  }),
  grpcTls: Toggle.prefault(false).register(settingMeta, {
    group: "Tink server",
    description: "Whether the tink server speaks TLS",
    type: "true|false",
    aliases: ["AGENT_GRPC_TLS", "TINKERBELL_TLS"],
  }),
  grpcInsecureTls: Toggle.prefault(false).register(settingMeta, {
    group: "Tink server",
    description: "Accept any certificate of the tink server",
    type: "true|false",
    aliases: ["AGENT_GRPC_INSECURE_TLS", "TINKERBELL_INSECURE_TLS"],
  }),
  grpcCaFile: Text.optional().register(settingMeta, {
    group: "Tink server",
    description: "PEM certificates to trust instead of the system's",
    type: "file",
    path: true,
  }),
  grpcClientCertFile: Text.optional().register(settingMeta, {
    group: "Tink server",
    description: "PEM certificate, with its chain, by which the worker identifies itself",
    type: "file",
    path: true,
  }),
  grpcClientKeyFile: Text.optional().register(settingMeta, {
    group: "Tink server",
    description: "PEM private key of that certificate",
    type: "file",
    path: true,
  }),
  grpcServerName: Text.optional().register(settingMeta, {
    group: "Tink server",
    description: "Name the tink server's certificate must carry",
    type: "name",
    defaultText: "the server's host",
  }),
  pollTimeout: Duration(SECOND, 10 * MINUTE)
    .prefault("75s")
    .register(settingMeta, {
      group: "Tink server",
      description:
        "Time for one poll; the server holds a poll for up to a minute, so it must be longer than that",
      type: "duration",
    }),
  backoffMaxInterval: Duration(100, HOUR)
    .prefault("30s")
    .register(settingMeta, {
      group: "Tink server",
      description: "Longest pause between attempts to reach a server that does not answer",
      type: "duration",
      aliases: ["AGENT_BACKOFF_MAX_INTERVAL"],
    }),

  maxActions: Count(1, 100_000).optional().register(settingMeta, {
    group: "Actions",
    description: "How many actions run at a time, over all machines",
    type: "count",
    defaultText: "1000 in-process, else 8 a processor and 64 at most",
  }),
  defaultActionTimeout: Duration(SECOND, 168 * HOUR)
    .prefault("1h")
    .register(settingMeta, {
      group: "Actions",
      description: "Time for an action whose template sets none",
      type: "duration",
    }),
  stopGrace: Duration(0, 10 * MINUTE)
    .prefault("10s")
    .register(settingMeta, {
      group: "Actions",
      description: "Time an action has to end after it was told to stop, before it is killed",
      type: "duration",
    }),
  shutdownGrace: Duration(0, 168 * HOUR)
    .prefault("5m")
    .register(settingMeta, {
      group: "Actions",
      description: "Time running actions have to end by themselves after the worker's first SIGTERM",
      type: "duration",
    }),
  runtime: Runtime.prefault("process").register(settingMeta, {
    group: "Actions",
    description:
      "What runs actions: child processes of the worker, the worker itself, containers, or Jobs of a cluster",
    type: "process|in-process|docker|kubernetes",
    aliases: ["AGENT_RUNTIME"],
  }),

  actionsDirectory: Text.optional().register(settingMeta, {
    group: "Process runtime",
    description: "Folder with the actions",
    type: "folder",
    path: true,
    defaultText: "the actions of this installation",
  }),

  dockerSocket: Text.prefault("/var/run/docker.sock").register(settingMeta, {
    group: "Docker runtime",
    description: "Socket of the container engine",
    type: "path",
    aliases: ["AGENT_DOCKER_SOCKET"],
    path: true,
  }),
  dockerNetwork: Text.prefault("bridge").register(settingMeta, {
    group: "Docker runtime",
    description: "Network that containers join",
    type: "name",
  }),
  pidsLimit: ContainerPids.prefault("64").register(settingMeta, {
    group: "Docker runtime",
    description: "Processes and threads of one container",
    type: "number",
  }),

  pullPolicy: z.enum(["always", "if-missing", "never"]).prefault("if-missing").register(settingMeta, {
    group: "Containers",
    description: "When images are pulled",
    type: "always|if-missing|never",
  }),
  actionUser: ActionUser.prefault("65532:65532").register(settingMeta, {
    group: "Containers",
    description: "User and group ID for containers whose image names no user, or root",
    type: "uid:gid",
  }),
  memoryLimit: ContainerMemory.prefault("256Mi").register(settingMeta, {
    group: "Containers",
    description: "Memory of one container",
    type: "size",
  }),
  cpuLimit: ContainerCpus.prefault("1").register(settingMeta, {
    group: "Containers",
    description: "Processors of one container; parts of one are possible",
    type: "number",
  }),

  registryName: Text.prefault("docker.io").register(settingMeta, {
    group: "Image registry",
    description: "Registry that the user below belongs to",
    type: "host[:port]",
    aliases: ["AGENT_REGISTRY_NAME", "DOCKER_REGISTRY"],
  }),
  registryUser: Text.optional().register(settingMeta, {
    group: "Image registry",
    description: "User for pulling images",
    type: "name",
    aliases: ["AGENT_REGISTRY_USER", "REGISTRY_USERNAME"],
  }),
  registryPass: z
    .string()
    .min(1)
    .transform((text) => new Secret(text))
    .optional()
    .register(settingMeta, {
      group: "Image registry",
      description: "Password for pulling images, from the environment alone",
      type: "text",
      aliases: ["AGENT_REGISTRY_PASS", "REGISTRY_PASSWORD"],
      noFlag: "every user of the machine could read it",
      noFileKey: "is a password: put it into a file of its own and name that with registryPassFile",
    }),
  registryPassFile: Text.optional().register(settingMeta, {
    group: "Image registry",
    description: "File that holds the password",
    type: "file",
    path: true,
  }),

  kubeconfig: Text.optional().register(settingMeta, {
    group: "Kubernetes",
    description: "How to reach the cluster",
    type: "file",
    aliases: ["AGENT_KUBERNETES_KUBECONFIG"],
    path: true,
    defaultText: "the pod's own service account, else `$KUBECONFIG`, else `~/.kube/config`",
  }),
  kubernetesNamespace: NamespaceName.optional().register(settingMeta, {
    group: "Kubernetes",
    description: "Namespace of the worker's own objects: Jobs, copies of Secrets, Leases",
    type: "namespace",
    aliases: ["AGENT_KUBERNETES_NAMESPACE"],
    defaultText: "the pod's, else the kubeconfig context's, else `default`",
  }),
  watchNamespace: z
    .union([z.literal("*"), NamespaceName])
    .optional()
    .register(settingMeta, {
      group: "Kubernetes",
      description: "Namespace whose Machines, Hardware, Workflows and Rufio Jobs count; `*` is all",
      type: "namespace|*",
      defaultText: "the one of `kubernetesNamespace`",
    }),
  kubernetesInventory: List(z.enum(["machines", "hardware"]))
    .prefault([])
    .register(settingMeta, {
      group: "Kubernetes",
      description: "Objects that are machines of the inventory: Rufio's Machines, Tinkerbell's Hardware",
      type: "machines|hardware",
      repeatable: true,
    }),
  wakeUp: z.enum(["auto", "on", "off"]).prefault("auto").register(settingMeta, {
    group: "Kubernetes",
    description:
      "Watch Workflows, so that an idle agent ID is polled when one is addressed to it and rarely otherwise; auto where the cluster is used anyway",
    type: "auto|on|off",
  }),
  rufio: Toggle.prefault(false).register(settingMeta, {
    group: "Kubernetes",
    description: "Do Rufio's work: its Jobs and Tasks, and the status of its Machines",
    type: "true|false",
  }),
  rufioImage: RufioImage.prefault("pbnj-worker/{action}:v{version}").register(settingMeta, {
    group: "Kubernetes",
    description: "Image of the action that does a Rufio task, with {action} in its name",
    type: "image",
  }),
  rufioStatusInterval: Duration(0, 24 * HOUR)
    .prefault("3m")
    .register(settingMeta, {
      group: "Kubernetes",
      description: "How often the power state of each Rufio Machine is read; 0 is only after actions",
      type: "duration",
    }),
  rufioLeaseNamespace: NamespaceName.optional().register(settingMeta, {
    group: "Kubernetes",
    description: "Namespace of the Lease by which a running Rufio is told",
    type: "namespace",
    defaultText: "the one of `kubernetesNamespace`",
  }),
  shareLanes: Toggle.prefault(false).register(settingMeta, {
    group: "Kubernetes",
    description: "Share the agent IDs with the other replicas of this worker, by Leases",
    type: "true|false",
  }),
  shareGroup: GroupName.prefault("pbnj-worker").register(settingMeta, {
    group: "Kubernetes",
    description: "Name that the replicas which share agent IDs have in common",
    type: "name",
  }),

  kubernetesServiceAccount: ObjectNameText.optional().register(settingMeta, {
    group: "Kubernetes runtime",
    description: "Service account of actions' pods, for what it is allowed to pull; they get no token of it",
    type: "name",
    aliases: ["AGENT_KUBERNETES_SERVICE_ACCOUNT"],
    defaultText: "the namespace's `default`",
  }),
  podStartTimeout: Duration(SECOND, HOUR).prefault("5m").register(settingMeta, {
    group: "Kubernetes runtime",
    description: "Time until an action's container must run: for finding a node and pulling the image",
    type: "duration",
  }),
  podNodeSelector: List(LabelPair).prefault([]).register(settingMeta, {
    group: "Kubernetes runtime",
    description: "Label that nodes must have to run actions",
    type: "name=value",
    repeatable: true,
  }),
  podTolerations: List(Toleration).prefault([]).register(settingMeta, {
    group: "Kubernetes runtime",
    description: "Taint of nodes that actions tolerate; without a value any, without an effect every",
    type: "key[=value][:effect]",
    repeatable: true,
  }),
  podPullSecrets: List(ObjectNameText).prefault([]).register(settingMeta, {
    group: "Kubernetes runtime",
    description: "Secret with which the images of actions are pulled",
    type: "name",
    repeatable: true,
  }),
  podLabels: List(LabelPair).prefault([]).register(settingMeta, {
    group: "Kubernetes runtime",
    description: "Further label of actions' Jobs and pods",
    type: "name=value",
    repeatable: true,
  }),
  podAnnotations: List(AnnotationPair).prefault([]).register(settingMeta, {
    group: "Kubernetes runtime",
    description: "Further annotation of actions' pods",
    type: "name=value",
    repeatable: true,
  }),

  httpAddress: HttpAddress.optional().register(settingMeta, {
    group: "Operating",
    description: "Where the status page, metrics and health are served; off serves nothing",
    type: "host:port|off",
    defaultText: "127.0.0.1:42180",
  }),
  httpAuth: z.enum(["auto", "none"]).prefault("auto").register(settingMeta, {
    group: "Operating",
    description:
      "Who may read status page and metrics: visitors with a token or certificate, which auto requires beyond loopback, or with none everyone",
    type: "auto|none",
  }),
  httpTokenFile: Text.optional().register(settingMeta, {
    group: "Operating",
    description:
      "File with the tokens that open status page and metrics, one per line; re-read when it changes",
    type: "file",
    path: true,
  }),
  httpCertFile: Text.optional().register(settingMeta, {
    group: "Operating",
    description: "PEM certificate, with its chain, to serve HTTPS; re-read when it changes",
    type: "file",
    path: true,
  }),
  httpKeyFile: Text.optional().register(settingMeta, {
    group: "Operating",
    description: "PEM private key of that certificate",
    type: "file",
    path: true,
  }),
  httpClientCaFile: Text.optional().register(settingMeta, {
    group: "Operating",
    description:
      "PEM authorities whose client certificates open status page and metrics; re-read when it changes",
    type: "file",
    path: true,
  }),
  actionLogDirectory: Text.optional().register(settingMeta, {
    group: "Operating",
    description: "Folder with a file for each action's own log",
    type: "folder",
    path: true,
    defaultText: "`logs` in the state directory",
  }),
  actionLogDays: Count(1, 3_650).prefault(14).register(settingMeta, {
    group: "Operating",
    description: "Logs of actions are removed after so many days",
    type: "days",
  }),
  actionLogMaxSize: ByteSize(0, 1_024 ** 4)
    .prefault("256Mi")
    .register(settingMeta, {
      group: "Operating",
      description: "When all logs of actions together are larger, the oldest are removed; 0 keeps none",
      type: "size",
    }),

  logLevel: LogLevel.prefault("info").register(settingMeta, {
    group: "Log",
    description: "The least important messages that are written",
    type: "debug|info|warn|error",
    aliases: ["AGENT_LOG_LEVEL"],
  }),
  logFormat: z.enum(["auto", "json", "pretty"]).prefault("auto").register(settingMeta, {
    group: "Log",
    description: "One JSON object a line, or text for people; auto is text on a terminal",
    type: "auto|json|pretty",
  }),
});
export type Settings = z.infer<typeof Settings>;
export type SettingName = keyof Settings;

export const settings = settingsOf(Settings);
