import type { V1PodSpec } from "@kubernetes/client-node";
import { jobSpecOf } from "../kinds/job.ts";
import { specOf } from "../kinds/pod.ts";
import { podSecurityMessage, violationsOfRestricted } from "../validation/pod-security.ts";
import { forbidden, notFound } from "./failure.ts";
import type { KubeObject } from "./object.ts";
import { randomSuffix } from "./random-suffix.ts";
import type { ResourceType } from "./resource-type.ts";

const TOKEN_MOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";

/** Finds a built-in object by its kind. */
export interface Cluster {
  find(kind: "Namespace" | "ServiceAccount", namespace: string, name: string): KubeObject | undefined;
  readonly namespaces: ResourceType;
}

/** NamespaceLifecycle: nothing comes into a namespace that is not there or going. */
export function admitNamespace(cluster: Cluster, type: ResourceType, object: KubeObject): void {
  const name = object.metadata.namespace ?? "";
  const namespace = cluster.find("Namespace", "", name);
  if (!namespace) throw notFound(cluster.namespaces, name);
  if (namespace.metadata.deletionTimestamp)
    throw forbidden(
      type,
      object.metadata.name ?? "",
      `unable to create new content in namespace ${name} because it is being terminated`,
    );
}

/** ServiceAccount: the account must be there; its token is mounted unless the Pod or the account declines. */
export function admitServiceAccount(cluster: Cluster, type: ResourceType, pod: KubeObject): void {
  const spec = specOf(pod);
  const { namespace = "", name = "" } = pod.metadata;
  const accountName = spec.serviceAccountName || "default";
  const account = cluster.find("ServiceAccount", namespace, accountName);
  if (!account)
    throw forbidden(
      type,
      name,
      `error looking up service account ${namespace}/${accountName}: serviceaccount "${accountName}" not found`,
    );
  const mounts = spec.automountServiceAccountToken ?? account["automountServiceAccountToken"] ?? true;
  if (mounts) mountToken(spec);
}

/** PodSecurity, which refuses Pods and warns of the templates that make them. */
export function admitPodSecurity(
  cluster: Cluster,
  type: ResourceType,
  object: KubeObject,
  warnings: string[],
): void {
  const labels = cluster.find("Namespace", "", object.metadata.namespace ?? "")?.metadata.labels ?? {};
  const enforced = labels["pod-security.kubernetes.io/enforce"] === "restricted";
  const warned = labels["pod-security.kubernetes.io/warn"] === "restricted";
  if (!enforced && !warned) return;
  const spec = type.kind === "Pod" ? specOf(object) : jobSpecOf(object).template.spec;
  const violations = violationsOfRestricted(spec ?? { containers: [] });
  if (violations.length === 0) return;
  const message = podSecurityMessage(violations);
  if (type.kind === "Pod" && enforced)
    throw forbidden(type, object.metadata.name ?? "", `violates ${message}`);
  warnings.push(`would violate ${message}`);
}

function mountToken(spec: V1PodSpec): void {
  const containers = [...(spec.initContainers ?? []), ...(spec.containers ?? [])];
  const without = containers.filter(
    ({ volumeMounts = [] }) => !volumeMounts.some(({ mountPath }) => mountPath === TOKEN_MOUNT),
  );
  if (without.length === 0) return;
  const name = `kube-api-access-${randomSuffix()}`;
  spec.volumes ??= [];
  spec.volumes.push({
    name,
    projected: {
      defaultMode: 0o644,
      sources: [
        { serviceAccountToken: { expirationSeconds: 3607, path: "token" } },
        { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
        {
          downwardAPI: {
            items: [{ path: "namespace", fieldRef: { apiVersion: "v1", fieldPath: "metadata.namespace" } }],
          },
        },
      ],
    },
  });
  for (const container of without) {
    container.volumeMounts ??= [];
    container.volumeMounts.push({ name, readOnly: true, mountPath: TOKEN_MOUNT });
  }
}
