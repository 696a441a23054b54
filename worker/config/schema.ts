import { z } from "zod";
import { Secret } from "../../shared/secret.ts";
import {
  AnnotationPair,
  GroupName,
  LabelPair,
  NamespaceName,
  ObjectNameText,
  RufioImage,
  Toleration,
} from "../document/kubernetes-values.ts";
import {
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
import { HttpAddress } from "./http-address.ts";
import { ServerAddress } from "./server-address.ts";
import { settingMeta, settingsOf } from "./setting.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

const PEER_RUNTIMES: Readonly<Record<string, string>> = {
  containerd: "containerd is not supported: use docker, which works with any Docker Engine API",
};

const Runtime = z.enum(["process", "in-process", "docker", "kubernetes"], {
  error: ({ input }) => (typeof input === "string" ? PEER_RUNTIMES[input] : undefined),
});

/** Other workers use a number: 0 is info, larger numbers log more. */
const LogLevel = z.preprocess(
  (given) => {
    const level = /^[+-]?\d+$/.test(String(given)) ? Number(given) : undefined;
    if (level === undefined) return given;
    return level > 0 ? "debug" : level === 0 ? "info" : level > -8 ? "warn" : "error";
  },
  z.enum(["debug", "info", "warn", "error"]),
);

/** `uid` or `uid:gid`. Names would be resolved in the image, where `nobody` may be root. */
const ActionUser = z
  .union([z.string(), z.number()])
  .transform(String)
  .pipe(
    z.string().regex(/^[1-9]\d{0,9}(:[1-9]\d{0,9})?$/, {
      error: "must be a user ID, or user and group ID as in 65532:65532, neither of them 0",
    }),
  );

/**
 * All settings of `pbnj-worker start`: the source of flags, environment variables, configuration file keys, defaults, the
 * reference page and the chart's schema. Durations are milliseconds, sizes bytes.
 */
export const Settings = z.object({
  config: Text.optional().register(settingMeta, {
    group: "Files",
    description: "YAML file with settings; flags and environment variables override it",
    type: "file",
    noFileKey: "names the configuration file itself: set it with --config or PBNJ_CONFIG",
  }),
  inventory: Text.optional().register(settingMeta, {
    group: "Files",
    description: "YAML file that lists the machines and the sources of their credentials",
    type: "file",
    path: true,
    chart: { derivedFrom: "inventory.file or inventory.existing" },
  }),
  policy: Text.optional().register(settingMeta, {
    group: "Files",
    description: "YAML file that defines which actions may run",
    type: "file",
    path: true,
    defaultText: "none; `docker` and `kubernetes` need one",
    chart: { derivedFrom: "policy.file or policy.existing" },
  }),
  unsafeAnyImage: Toggle.prefault(false).register(settingMeta, {
    group: "Files",
    description:
      "DANGER: trust every image: any image that a workflow names receives the machine's BMC password",
    type: "true|false",
  }),

  stateDirectory: Text.optional().register(settingMeta, {
    group: "Files",
    description:
      "Folder for the worker's state, such as running and ended actions; each worker needs its own",
    type: "folder",
    path: true,
    defaultText: "`$XDG_STATE_HOME/pbnj-worker`, or `~/.local/state/pbnj-worker`",
    chart: { derivedFrom: "state.persistence" },
  }),
  reloadInterval: Duration(0, HOUR).prefault("2s").register(settingMeta, {
    group: "Files",
    description:
      "How often the worker checks the inventory, policy, token and certificate files for changes; 0 means never",
    type: "duration",
  }),

  agentId: List(AgentId)
    .prefault([])
    .register(settingMeta, {
      group: "Agent IDs",
      description: "Agent ID to poll with; repeat the flag or separate several with commas",
      type: "id",
      aliases: ["AGENT_ID", "ID", "WORKER_ID"],
      repeatable: true,
      chart: { value: "agentIds" },
    }),
  agentIdPattern: AgentIdPattern.prefault("pbnj-{machine}").register(settingMeta, {
    group: "Agent IDs",
    description:
      "Pattern for the agent ID of each machine in the inventory; the worker also polls with these",
    type: "pattern",
    chart: { value: "agentIdPattern" },
  }),

  grpcServer: ServerAddress.optional().register(settingMeta, {
    group: "Tink server",
    description: "Address of the tink server; the default port is 42113; write IPv6 addresses in brackets",
    type: "host:port",
    aliases: ["AGENT_GRPC_SERVER", "TINKERBELL_GRPC_AUTHORITY"],
    chart: { value: "tink.address" },
  }),
  grpcApi: z
    .enum(["auto", "current", "legacy"])
    .prefault("auto")
    .register(settingMeta, {
      group: "Tink server",
      description:
        "Workflow API of the tink server: current (Tinkerbell 0.17 and later), legacy (tink 0.8 to 0.12), or auto to detect it",
      type: "auto|current|legacy",
      chart: { value: "tink.api" },
    }),
  grpcTls: Toggle.prefault(false).register(settingMeta, {
    group: "Tink server",
    description: "Use TLS to connect to the tink server",
    type: "true|false",
    aliases: ["AGENT_GRPC_TLS", "TINKERBELL_TLS"],
    chart: { value: "tink.tls.enabled" },
  }),
  grpcInsecureTls: Toggle.prefault(false).register(settingMeta, {
    group: "Tink server",
    description: "Accept any certificate from the tink server",
    type: "true|false",
    aliases: ["AGENT_GRPC_INSECURE_TLS", "TINKERBELL_INSECURE_TLS"],
    chart: { value: "tink.tls.insecure" },
  }),
  grpcCaFile: Text.optional().register(settingMeta, {
    group: "Tink server",
    description: "PEM certificates to trust instead of the system's trust store",
    type: "file",
    path: true,
    chart: { derivedFrom: "tink.tls.ca" },
  }),
  grpcClientCertFile: Text.optional().register(settingMeta, {
    group: "Tink server",
    description: "PEM client certificate of the worker, with its chain",
    type: "file",
    path: true,
    chart: { derivedFrom: "tink.tls.clientSecret" },
  }),
  grpcClientKeyFile: Text.optional().register(settingMeta, {
    group: "Tink server",
    description: "PEM private key of that certificate",
    type: "file",
    path: true,
    chart: { derivedFrom: "tink.tls.clientSecret" },
  }),
  grpcServerName: Text.optional().register(settingMeta, {
    group: "Tink server",
    description: "Host name that the tink server's certificate must contain",
    type: "name",
    defaultText: "the server's host",
    chart: { value: "tink.tls.serverName" },
  }),
  pollTimeout: Duration(SECOND, 10 * MINUTE)
    .prefault("75s")
    .register(settingMeta, {
      group: "Tink server",
      description: "Timeout of one poll; the server holds a poll for up to one minute, so use a longer time",
      type: "duration",
    }),
  backoffMaxInterval: Duration(100, HOUR)
    .prefault("30s")
    .register(settingMeta, {
      group: "Tink server",
      description: "Maximum backoff between attempts to reach a server that does not answer",
      type: "duration",
      aliases: ["AGENT_BACKOFF_MAX_INTERVAL"],
    }),

  maxActions: Count(1, 100_000).optional().register(settingMeta, {
    group: "Actions",
    description: "Maximum number of actions that run at the same time, on all machines",
    type: "count",
    defaultText: "1000 for in-process, else 8 per processor and at most 64",
  }),
  defaultActionTimeout: Duration(SECOND, 168 * HOUR)
    .prefault("1h")
    .register(settingMeta, {
      group: "Actions",
      description: "Timeout of an action whose template sets none",
      type: "duration",
    }),
  stopGrace: Duration(0, 10 * MINUTE)
    .prefault("10s")
    .register(settingMeta, {
      group: "Actions",
      description: "Time between asking an action to stop and killing it",
      type: "duration",
      chart: { value: "stopGrace" },
    }),
  shutdownGrace: Duration(0, 168 * HOUR)
    .prefault("5m")
    .register(settingMeta, {
      group: "Actions",
      description: "Time that running actions have to finish after the worker's first SIGTERM",
      type: "duration",
      chart: { derivedFrom: "shutdownGrace" },
    }),
  runtime: Runtime.prefault("process").register(settingMeta, {
    group: "Actions",
    description:
      "How to run actions: as child processes, inside the worker, in containers, or as Jobs in a cluster",
    type: "process|in-process|docker|kubernetes",
    aliases: ["AGENT_RUNTIME"],
    chart: { derivedFrom: "runtime.kind" },
  }),

  actionsDirectory: Text.optional().register(settingMeta, {
    group: "Process runtime",
    description: "Folder with the actions",
    type: "folder",
    path: true,
    defaultText: "the actions of this installation",
    chart: "none",
  }),

  dockerSocket: Text.prefault("/var/run/docker.sock").register(settingMeta, {
    group: "Docker runtime",
    description: "Socket of the container engine",
    type: "path",
    aliases: ["AGENT_DOCKER_SOCKET"],
    path: true,
    chart: "none",
  }),
  dockerNetwork: Text.prefault("bridge").register(settingMeta, {
    group: "Docker runtime",
    description: "Network that containers join",
    type: "name",
    chart: "none",
  }),
  pidsLimit: ContainerPids.prefault("64").register(settingMeta, {
    group: "Docker runtime",
    description: "Maximum number of processes and threads per container",
    type: "number",
    chart: "none",
  }),

  pullPolicy: z
    .enum(["always", "if-missing", "never"])
    .prefault("if-missing")
    .register(settingMeta, {
      group: "Containers",
      description: "When to pull images",
      type: "always|if-missing|never",
      chart: { value: "runtime.pods.pullPolicy" },
    }),
  actionUser: ActionUser.prefault("65532:65532").register(settingMeta, {
    group: "Containers",
    description: "User and group ID for containers whose image sets no user, or root",
    type: "uid:gid",
    chart: { value: "runtime.pods.user" },
  }),
  memoryLimit: ContainerMemory.prefault("256Mi").register(settingMeta, {
    group: "Containers",
    description: "Memory limit per container",
    type: "size",
    chart: { value: "runtime.pods.memoryLimit" },
  }),
  cpuLimit: ContainerCpus.prefault("1").register(settingMeta, {
    group: "Containers",
    description: "CPU limit per container; fractions are allowed",
    type: "number",
    chart: { value: "runtime.pods.cpuLimit" },
  }),

  registryName: Text.prefault("docker.io").register(settingMeta, {
    group: "Image registry",
    description: "Registry to which the user and password below apply",
    type: "host[:port]",
    aliases: ["AGENT_REGISTRY_NAME", "DOCKER_REGISTRY"],
    chart: "none",
  }),
  registryUser: Text.optional().register(settingMeta, {
    group: "Image registry",
    description: "User for pulling images",
    type: "name",
    aliases: ["AGENT_REGISTRY_USER", "REGISTRY_USERNAME"],
    chart: "none",
  }),
  registryPass: z
    .string()
    .min(1)
    .transform((text) => new Secret(text))
    .optional()
    .register(settingMeta, {
      group: "Image registry",
      description: "Password for pulling images; only as an environment variable",
      type: "text",
      aliases: ["AGENT_REGISTRY_PASS", "REGISTRY_PASSWORD"],
      noFlag: "every user of the host could read it",
      noFileKey: "is a password: put it in a separate file and set registryPassFile to its path",
    }),
  registryPassFile: Text.optional().register(settingMeta, {
    group: "Image registry",
    description: "File that contains the password",
    type: "file",
    path: true,
    chart: "none",
  }),

  kubeconfig: Text.optional().register(settingMeta, {
    group: "Kubernetes",
    description: "Kubeconfig file for the cluster",
    type: "file",
    aliases: ["AGENT_KUBERNETES_KUBECONFIG"],
    path: true,
    defaultText: "the pod's own service account, else `$KUBECONFIG`, else `~/.kube/config`",
    chart: "none",
  }),
  kubernetesNamespace: NamespaceName.optional().register(settingMeta, {
    group: "Kubernetes",
    description: "Namespace of the worker's own objects: Jobs, copies of Secrets, Leases",
    type: "namespace",
    aliases: ["AGENT_KUBERNETES_NAMESPACE"],
    defaultText: "the pod's, else the kubeconfig context's, else `default`",
    chart: "none",
  }),
  watchNamespace: z
    .union([z.literal("*"), NamespaceName])
    .optional()
    .register(settingMeta, {
      group: "Kubernetes",
      description: "Namespace to watch for Machines, Hardware, Workflows and Rufio Jobs; `*` means all",
      type: "namespace|*",
      defaultText: "the value of `kubernetesNamespace`",
      chart: { value: "watchNamespace" },
    }),
  kubernetesInventory: List(z.enum(["machines", "hardware"]))
    .prefault([])
    .register(settingMeta, {
      group: "Kubernetes",
      description:
        "Cluster objects to add to the inventory as machines: Rufio's Machines, Tinkerbell's Hardware",
      type: "machines|hardware",
      repeatable: true,
      chart: { value: "inventory.kubernetes" },
    }),
  wakeUp: z
    .enum(["auto", "on", "off"])
    .prefault("auto")
    .register(settingMeta, {
      group: "Kubernetes",
      description:
        "Watch Workflows, and poll with an idle agent ID only when a Workflow is addressed to it; auto enables this if the worker uses the cluster anyway",
      type: "auto|on|off",
      chart: { value: "wakeUp" },
    }),
  rufio: Toggle.prefault(false).register(settingMeta, {
    group: "Kubernetes",
    description: "Do Rufio's work: its Jobs and Tasks, and the status of its Machines",
    type: "true|false",
    chart: { value: "rufio.enabled" },
  }),
  rufioImage: RufioImage.prefault("pbnj-worker/{action}:v{version}").register(settingMeta, {
    group: "Kubernetes",
    description: "Image of the action that runs a Rufio task; must contain {action}",
    type: "image",
    chart: { derivedFrom: "rufio.image" },
  }),
  rufioStatusInterval: Duration(0, 24 * HOUR)
    .prefault("3m")
    .register(settingMeta, {
      group: "Kubernetes",
      description:
        "How often the worker reads the power state of each Rufio Machine; 0 means only after actions",
      type: "duration",
      chart: { value: "rufio.statusInterval" },
    }),
  rufioLeaseNamespace: NamespaceName.optional().register(settingMeta, {
    group: "Kubernetes",
    description: "Namespace of the Lease that a running Rufio holds",
    type: "namespace",
    defaultText: "the value of `kubernetesNamespace`",
    chart: { value: "rufio.leaseNamespace" },
  }),
  shareLanes: Toggle.prefault(false).register(settingMeta, {
    group: "Kubernetes",
    description: "Share the agent IDs with the other replicas of this worker, using Leases",
    type: "true|false",
    chart: { derivedFrom: "sharing.enabled" },
  }),
  shareGroup: GroupName.prefault("pbnj-worker").register(settingMeta, {
    group: "Kubernetes",
    description: "Name of the group of replicas that share agent IDs",
    type: "name",
    chart: { derivedFrom: "sharing.group" },
  }),

  kubernetesServiceAccount: ObjectNameText.optional().register(settingMeta, {
    group: "Kubernetes runtime",
    description: "Service account of the action pods, used to pull images; the pods get no token",
    type: "name",
    aliases: ["AGENT_KUBERNETES_SERVICE_ACCOUNT"],
    defaultText: "the namespace's `default`",
    chart: { value: "runtime.pods.serviceAccount" },
  }),
  podStartTimeout: Duration(SECOND, HOUR)
    .prefault("5m")
    .register(settingMeta, {
      group: "Kubernetes runtime",
      description: "Time limit for scheduling an action's pod, pulling its image and starting its container",
      type: "duration",
      chart: { value: "runtime.pods.startTimeout" },
    }),
  podNodeSelector: List(LabelPair)
    .prefault([])
    .register(settingMeta, {
      group: "Kubernetes runtime",
      description: "Label that nodes must have to run actions",
      type: "name=value",
      repeatable: true,
      chart: { derivedFrom: "runtime.pods.nodeSelector" },
    }),
  podTolerations: List(Toleration)
    .prefault([])
    .register(settingMeta, {
      group: "Kubernetes runtime",
      description: "Taint that actions tolerate; without a value, any value; without an effect, every effect",
      type: "key[=value][:effect]",
      repeatable: true,
      chart: { derivedFrom: "runtime.pods.tolerations" },
    }),
  podPullSecrets: List(ObjectNameText)
    .prefault([])
    .register(settingMeta, {
      group: "Kubernetes runtime",
      description: "Secret for pulling the images of actions",
      type: "name",
      repeatable: true,
      chart: { value: "runtime.pods.pullSecrets" },
    }),
  podLabels: List(LabelPair)
    .prefault([])
    .register(settingMeta, {
      group: "Kubernetes runtime",
      description: "Additional label for the Jobs and pods of actions",
      type: "name=value",
      repeatable: true,
      chart: { derivedFrom: "runtime.pods.labels" },
    }),
  podAnnotations: List(AnnotationPair)
    .prefault([])
    .register(settingMeta, {
      group: "Kubernetes runtime",
      description: "Additional annotation for the pods of actions",
      type: "name=value",
      repeatable: true,
      chart: { derivedFrom: "runtime.pods.annotations" },
    }),

  httpAddress: HttpAddress.optional().register(settingMeta, {
    group: "Operating",
    description: "Address on which to serve the status page, metrics and health; off disables them",
    type: "host:port|off",
    defaultText: "127.0.0.1:42180",
    chart: { derivedFrom: "service.host" },
  }),
  httpAuth: z
    .enum(["auto", "none"])
    .prefault("auto")
    .register(settingMeta, {
      group: "Operating",
      description:
        "Who can read the status page and metrics: auto requires a token or client certificate beyond loopback, none allows everyone",
      type: "auto|none",
      chart: { value: "http.auth" },
    }),
  httpTokenFile: Text.optional().register(settingMeta, {
    group: "Operating",
    description:
      "File with the tokens for the status page and metrics, one per line; reloaded when it changes",
    type: "file",
    path: true,
    chart: { derivedFrom: "http.tokenSecret" },
  }),
  httpCertFile: Text.optional().register(settingMeta, {
    group: "Operating",
    description: "PEM certificate, with its chain, for HTTPS; reloaded when it changes",
    type: "file",
    path: true,
    chart: { derivedFrom: "http.tlsSecret" },
  }),
  httpKeyFile: Text.optional().register(settingMeta, {
    group: "Operating",
    description: "PEM private key of that certificate",
    type: "file",
    path: true,
    chart: { derivedFrom: "http.tlsSecret" },
  }),
  httpClientCaFile: Text.optional().register(settingMeta, {
    group: "Operating",
    description:
      "PEM certificates of the authorities for client certificates that can read the status page and metrics; reloaded when it changes",
    type: "file",
    path: true,
    chart: { derivedFrom: "http.clientCaSecret" },
  }),
  actionLogDirectory: Text.optional().register(settingMeta, {
    group: "Operating",
    description: "Folder for the action logs, with one file per action",
    type: "folder",
    path: true,
    defaultText: "`logs` in the state directory",
  }),
  actionLogDays: Count(1, 3_650).prefault(14).register(settingMeta, {
    group: "Operating",
    description: "Number of days to keep action logs",
    type: "days",
  }),
  actionLogMaxSize: ByteSize(0, 1_024 ** 4)
    .prefault("256Mi")
    .register(settingMeta, {
      group: "Operating",
      description: "Maximum size of all action logs; the oldest are removed first; 0 keeps none",
      type: "size",
    }),

  logLevel: LogLevel.prefault("info").register(settingMeta, {
    group: "Log",
    description: "Minimum level of the messages to write",
    type: "debug|info|warn|error",
    aliases: ["AGENT_LOG_LEVEL"],
  }),
  logFormat: z.enum(["auto", "json", "pretty"]).prefault("auto").register(settingMeta, {
    group: "Log",
    description: "Log format: one JSON object per line, or readable text; auto uses text on a terminal",
    type: "auto|json|pretty",
  }),
});
export type Settings = z.infer<typeof Settings>;
export type SettingName = keyof Settings;

export const settings = settingsOf(Settings);
