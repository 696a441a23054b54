import { serialiseConnection } from "../../../shared/contract/connection.ts";
import { engineImage } from "../../../shared/contract/image-reference.ts";
import { defined } from "../../../shared/defined.ts";
import type { LaunchRequest, PullPolicy } from "../../core/ports/runtime.ts";
import type { Pair, PodToleration } from "../../document/kubernetes-values.ts";
import { launchName } from "../launch-name.ts";
import { CONNECTION_ANNOTATION, type JobMetadata, LABEL, MANAGED_BY } from "./job-labels.ts";

/** The name of the action's container; webhooks may add others. */
export const ACTION_CONTAINER = "action";
const CONNECTION_DIRECTORY = "/run/pbnj-worker";
const CONNECTION_FILE = "connection.json";
const TMP_SIZE = "64Mi";
/** For logs only, because nothing else is writable: kubelets keep 5 files of 10 MiB. */
const EPHEMERAL_STORAGE = { request: "32Mi", limit: "128Mi" } as const;
/** An action mostly waits for its BMC: requesting its limit would fill nodes with idle pods. */
const CPU_REQUEST = 0.05;
/**
 * How long a Job is kept that no worker adopts. A journal remembers for as long, so that an action never runs again after an
 * outage of days.
 */
const UNCLAIMED_TTL_SECONDS = 7 * 86_400;
/** Added to the worker's own timeouts, for requests and the kubelet. */
const BACKSTOP_SLACK_MS = 60_000;

export interface PodConfig {
  readonly pullPolicy: PullPolicy;
  readonly user: string;
  readonly memoryBytes: number;
  readonly cpus: number;
  readonly startTimeoutMs: number;
  readonly serviceAccount?: string | undefined;
  readonly nodeSelector: readonly Pair[];
  readonly tolerations: readonly PodToleration[];
  readonly pullSecrets: readonly string[];
  readonly labels: readonly Pair[];
  readonly annotations: readonly Pair[];
}

type JobRequest = Pick<LaunchRequest, "action" | "terms" | "timeoutMs" | "environment" | "mounted">;

export interface JobSpecOptions {
  readonly pods: PodConfig;
  readonly labels: JobMetadata;
  readonly stopGraceMs: number;
  readonly secret?: string | undefined;
}

/**
 * The Job of an action. It is created suspended, so that it has certainly done nothing until then. `backoffLimit: 0`
 * alone does not prevent a second pod: a deleted pod is replaced while it still terminates, because it has not failed
 * yet. With `podReplacementPolicy: Failed` it would be replaced only after it has failed, which the limit forbids
 * (KEP-3939; beta and on by default since 1.29).
 */
export function jobManifest(request: JobRequest, options: JobSpecOptions): Readonly<Record<string, unknown>> {
  const { pods, labels, stopGraceMs, secret } = options;
  const wanted = pods.startTimeoutMs + request.timeoutMs + stopGraceMs + BACKSTOP_SLACK_MS;
  const annotations = { ...labels.annotations, ...defined({ [LABEL.secret]: secret }) };
  const allLabels = { ...pairs(pods.labels), ...labels.labels };
  return {
    metadata: { name: launchName(request.action), labels: allLabels, annotations },
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
          labels: allLabels,
          annotations: {
            // Interrupting a BMC operation costs more than Cluster Autoscaler and Karpenter save.
            "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
            "karpenter.sh/do-not-disrupt": "true",
            ...pairs(pods.annotations),
            ...annotations,
            ...(request.mounted && { [CONNECTION_ANNOTATION]: JSON.stringify(request.mounted.document) }),
          },
        },
        spec: podSpec(request, options),
      },
    },
  };
}

/** The Secret with a connection, owned by its Job. Send it to the API and nowhere else. */
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

function podSpec(request: JobRequest, { pods, stopGraceMs, secret }: JobSpecOptions) {
  const volume = connectionVolume(request.mounted, secret);
  const [uid, gid] = userOf(pods.user);
  return {
    restartPolicy: "Never",
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    // Does not reveal the action, as the pod's name would.
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
      // In memory, as in Docker's containers: a password that an action writes down never reaches a disk.
      { name: "tmp", emptyDir: { medium: "Memory", sizeLimit: TMP_SIZE } },
      ...(volume ? [{ name: "connection", ...volume }] : []),
    ],
    containers: [actionContainer(request, pods, volume !== undefined)],
  };
}

function actionContainer(
  { action, terms = {}, environment }: JobRequest,
  pods: PodConfig,
  connected: boolean,
) {
  const cpus = terms.cpus ?? pods.cpus;
  const memory = String(terms.memoryBytes ?? pods.memoryBytes);
  const connectionFile = connected ? `${CONNECTION_DIRECTORY}/${CONNECTION_FILE}` : undefined;
  const variables = {
    ...action.environment,
    ...environment,
    ...defined({ BMC_CONNECTION_FILE: connectionFile }),
  };
  return {
    name: ACTION_CONTAINER,
    image: engineImage(action.image),
    imagePullPolicy: PULL_POLICIES[terms.pull ?? pods.pullPolicy],
    ...(action.command.length > 0 && { args: action.command.map(literal) }),
    env: Object.entries(variables).map(([name, value]) => ({ name, value: literal(value) })),
    // Images of other projects write no termination message. Their last log lines then become the reason, readable without
    // `pods/log`.
    terminationMessagePolicy: "FallbackToLogsOnError",
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    },
    resources: {
      // With all memory requested, a full node does not evict the action first.
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

/** Escapes `$`: kubelets expand `$(NAME)` in arguments and variables, which no other runtime does. */
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

/** The number of millicores, which are the API's finest unit. */
function thousandths(cpus: number): string {
  return `${Math.max(1, Math.ceil(cpus * 1_000))}m`;
}

function seconds(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1_000));
}
