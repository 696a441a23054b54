import { serialiseConnection } from "../../../shared/contract/connection.ts";
import { defined } from "../../../shared/defined.ts";
import type { Pair, PodToleration } from "../../document/kubernetes-values.ts";
import { launchName } from "../launch-name.ts";
import type { LaunchRequest } from "../runtime.ts";
import { CONNECTION_ANNOTATION, type JobMetadata, LABEL, MANAGED_BY } from "./labels.ts";

/** The container that is the action; whatever else an admission puts beside it is of no concern. */
export const ACTION_CONTAINER = "action";
const CONNECTION_DIRECTORY = "/run/pbnj-worker";
const CONNECTION_FILE = "connection.json";
const TMP_SIZE = "64Mi";
/** Logs alone, as nothing else can be written to: kubelets keep 5 files of 10 MiB of them. */
const EPHEMERAL_STORAGE = { request: "32Mi", limit: "128Mi" } as const;
/** What an action needs while it waits for its BMC, which is most of its time: a limit as request would fill nodes with idle pods. */
const CPU_REQUEST = 0.05;
/** Should no worker come back for it. */
const UNCLAIMED_TTL_SECONDS = 86_400;
/** Beyond the time the worker itself gives, for its requests and the kubelet's. */
const BACKSTOP_SLACK_MS = 60_000;

/** How the pods of actions look; the rest of a Job is the same for all. */
export interface PodConfig {
  readonly pullPolicy: "always" | "if-missing" | "never";
  /** `uid` or `uid:gid`. */
  readonly user: string;
  readonly memoryBytes: number;
  readonly cpus: number;
  readonly startTimeoutMs: number;
  readonly serviceAccount?: string;
  readonly nodeSelector: readonly Pair[];
  readonly tolerations: readonly PodToleration[];
  readonly pullSecrets: readonly string[];
  readonly labels: readonly Pair[];
  readonly annotations: readonly Pair[];
}

/** What a Job depends on beside its request. */
export interface JobSpecOptions {
  readonly pods: PodConfig;
  readonly labels: JobMetadata;
  readonly stopGraceMs: number;
  /** Of the Secret that will hold the connection; absent where none is made. */
  readonly secret?: string;
}

/**
 * The Job of an action, suspended: until that is taken back it has certainly done nothing.
 *
 * That its pod is never followed by a second one, `backoffLimit: 0` alone does not see to: a pod that is deleted before its
 * end is replaced while it still terminates, as not yet failed, unless `podReplacementPolicy` is `Failed`. Then it is
 * replaced only once it has failed, which the limit forbids (KEP-3939; beta and on by default since 1.29).
 */
export function jobManifest(
  request: Pick<LaunchRequest, "action" | "terms" | "timeoutMs" | "environment" | "mounted">,
  { pods, labels, stopGraceMs, secret }: JobSpecOptions,
): Readonly<Record<string, unknown>> {
  const { action } = request;
  const wanted = pods.startTimeoutMs + request.timeoutMs + stopGraceMs + BACKSTOP_SLACK_MS;
  const annotations = { ...labels.annotations, ...(secret === undefined ? {} : { [LABEL.secret]: secret }) };
  return {
    metadata: {
      name: launchName(action),
      labels: { ...pairs(pods.labels), ...labels.labels },
      annotations,
    },
    spec: {
      suspend: true,
      parallelism: 1,
      completions: 1,
      backoffLimit: 0,
      podReplacementPolicy: "Failed",
      activeDeadlineSeconds: seconds(wanted),
      ttlSecondsAfterFinished: UNCLAIMED_TTL_SECONDS,
      template: {
        metadata: {
          labels: { ...pairs(pods.labels), ...labels.labels },
          annotations: {
            // Cluster Autoscaler and Karpenter empty nodes for thrift: what is done at a BMC by halves costs more.
            "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
            "karpenter.sh/do-not-disrupt": "true",
            ...pairs(pods.annotations),
            ...annotations,
            ...(request.mounted && { [CONNECTION_ANNOTATION]: JSON.stringify(request.mounted.document) }),
          },
        },
        spec: podSpec(request, { pods, stopGraceMs, secret }),
      },
    },
  };
}

/** The Secret with a connection, of a Job and for as long as that is there. Goes to the API and nowhere else. */
export function connectionSecret(
  name: string,
  owner: { readonly name: string; readonly uid: string },
  { labels }: JobMetadata,
  connection: NonNullable<LaunchRequest["connection"]>,
): Readonly<Record<string, unknown>> {
  return {
    metadata: {
      name,
      labels: { ...labels, ...MANAGED_BY },
      ownerReferences: [
        { apiVersion: "batch/v1", kind: "Job", name: owner.name, uid: owner.uid, blockOwnerDeletion: false },
      ],
    },
    type: "Opaque",
    immutable: true,
    data: { [CONNECTION_FILE]: Buffer.from(serialiseConnection(connection)).toString("base64") },
  };
}

function podSpec(
  request: Parameters<typeof jobManifest>[0],
  {
    pods,
    stopGraceMs,
    secret,
  }: Pick<JobSpecOptions, "pods" | "stopGraceMs"> & { secret: string | undefined },
) {
  const volume = connectionVolume(request.mounted, secret);
  const [uid, gid] = userOf(pods.user);
  return {
    restartPolicy: "Never",
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    // The pod's name, which tells of the action, is nobody's outside.
    hostname: "pbnj-action",
    terminationGracePeriodSeconds: seconds(stopGraceMs),
    ...defined({ serviceAccountName: pods.serviceAccount }),
    ...(pods.nodeSelector.length > 0 && { nodeSelector: pairs(pods.nodeSelector) }),
    ...(pods.tolerations.length > 0 && { tolerations: pods.tolerations }),
    ...(pods.pullSecrets.length > 0 && { imagePullSecrets: pods.pullSecrets.map((name) => ({ name })) }),
    securityContext: {
      runAsNonRoot: true,
      runAsUser: uid,
      runAsGroup: gid,
      fsGroup: gid,
      seccompProfile: { type: "RuntimeDefault" },
    },
    volumes: [
      // In memory, as in Docker's containers: what an action writes down of a password reaches no disk of the node.
      { name: "tmp", emptyDir: { medium: "Memory", sizeLimit: TMP_SIZE } },
      ...(volume ? [{ name: "connection", ...volume }] : []),
    ],
    containers: [actionContainer(request, pods, volume !== undefined)],
  };
}

function actionContainer(
  { action, terms = {}, environment }: Parameters<typeof jobManifest>[0],
  pods: PodConfig,
  connected: boolean,
) {
  const cpus = terms.cpus ?? pods.cpus;
  const memory = String(terms.memoryBytes ?? pods.memoryBytes);
  const variables = {
    ...action.environment,
    ...environment,
    ...(connected ? { BMC_CONNECTION_FILE: `${CONNECTION_DIRECTORY}/${CONNECTION_FILE}` } : {}),
  };
  return {
    name: ACTION_CONTAINER,
    image: action.image,
    imagePullPolicy: PULL_POLICIES[terms.pull ?? pods.pullPolicy],
    ...(action.command.length > 0 && { args: action.command.map(literal) }),
    env: Object.entries(variables).map(([name, value]) => ({ name, value: literal(value) })),
    // An image of somebody else writes no last words: what it logged last is then its reason, readable without `pods/log`.
    terminationMessagePolicy: "FallbackToLogsOnError",
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    },
    resources: {
      // Memory that is requested in full is not taken back: an action is not the one a full node kills.
      requests: {
        cpu: thousandths(Math.min(cpus, CPU_REQUEST)),
        memory,
        "ephemeral-storage": EPHEMERAL_STORAGE.request,
      },
      limits: { cpu: thousandths(cpus), memory, "ephemeral-storage": EPHEMERAL_STORAGE.limit },
    },
    volumeMounts: [
      { name: "tmp", mountPath: "/tmp" },
      ...(connected ? [{ name: "connection", mountPath: CONNECTION_DIRECTORY, readOnly: true }] : []),
    ],
  };
}

const READ_BY_GROUP = 0o440;

function connectionVolume(mounted: LaunchRequest["mounted"], secret: string | undefined) {
  if (mounted) {
    const document = { fieldRef: { fieldPath: `metadata.annotations['${CONNECTION_ANNOTATION}']` } };
    const files = Map.groupBy(mounted.files, ({ secret: name }) => name);
    const sources = [
      { downwardAPI: { items: [{ path: CONNECTION_FILE, ...document }] } },
      ...[...files].map(([name, keys]) => ({
        secret: { name, items: keys.map(({ key, file }) => ({ key, path: file })) },
      })),
    ];
    return { projected: { defaultMode: READ_BY_GROUP, sources } };
  }
  if (secret === undefined) return undefined;
  return { secret: { secretName: secret, defaultMode: READ_BY_GROUP } };
}

const PULL_POLICIES = { always: "Always", "if-missing": "IfNotPresent", never: "Never" } as const;

/** Kubelets replace `$(NAME)` in arguments and variables, which no other runtime does; `$$` stands for `$`. */
function literal(text: string): string {
  return text.replaceAll("$", () => "$$");
}

function userOf(user: string): readonly [uid: number, gid: number] {
  const [uid = "", gid = uid] = user.split(":");
  return [Number(uid), Number(gid)];
}

function pairs(list: readonly { readonly name: string; readonly value: string }[]): Record<string, string> {
  return Object.fromEntries(list.map(({ name, value }) => [name, value]));
}

/** The finest share of a processor that the API knows. */
function thousandths(cpus: number): string {
  return `${Math.max(1, Math.ceil(cpus * 1_000))}m`;
}

function seconds(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1_000));
}
