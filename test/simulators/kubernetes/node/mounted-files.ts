import type { V1Container, V1KeyToPath, V1Volume, V1VolumeProjection } from "@kubernetes/client-node";
import type { KubeObject } from "../api/object.ts";
import { specOf } from "../kinds/pod.ts";
import type { ClusterClient } from "./cluster-client.ts";
import { core } from "./paths.ts";

/** A file as a container sees it. */
export interface MountedFile {
  /** Absolute, in the container. */
  readonly path: string;
  readonly content: string;
  readonly mode: number;
}

/** What keeps a container from being made, in the kubelet's words. */
export class MountError extends Error {}

interface VolumeFile {
  readonly path: string;
  readonly content: string;
  readonly mode: number;
}

interface Source {
  readonly kind: "secret" | "configmap";
  readonly name: string;
  readonly items: readonly V1KeyToPath[] | undefined;
  readonly optional: boolean;
  readonly defaultMode: number;
}

const DEFAULT_MODE = 0o644;

/** The files of the volumes that the container mounts. Throws a `MountError` where a kubelet would wait. */
export async function mountedFiles(
  client: ClusterClient,
  pod: KubeObject,
  container: V1Container,
): Promise<MountedFile[]> {
  const files: MountedFile[] = [];
  for (const mount of container.volumeMounts ?? []) {
    const volume = specOf(pod).volumes?.find(({ name }) => name === mount.name);
    if (!volume) throw new MountError(`volume "${mount.name}" is not among the pod's`);
    for (const file of await filesOf(client, pod, volume)) {
      if (!mount.subPath) files.push({ ...file, path: `${mount.mountPath.replace(/\/$/, "")}/${file.path}` });
      else if (file.path === mount.subPath) files.push({ ...file, path: mount.mountPath });
      else if (file.path.startsWith(`${mount.subPath}/`))
        files.push({ ...file, path: `${mount.mountPath}${file.path.slice(mount.subPath.length)}` });
    }
  }
  return files;
}

/** The container's variables. Throws a `MountError` where a kubelet says CreateContainerConfigError. */
export async function variablesOf(
  client: ClusterClient,
  pod: KubeObject,
  container: V1Container,
): Promise<Record<string, string>> {
  const variables: Record<string, string> = {};
  for (const { name, value = "", valueFrom } of container.env ?? []) {
    const reference = valueFrom?.secretKeyRef ?? valueFrom?.configMapKeyRef;
    if (reference) {
      const kind = valueFrom?.secretKeyRef ? "secret" : "configmap";
      const data = await dataOf(client, pod, kind, reference.name ?? "");
      const found = data?.[reference.key];
      if (found !== undefined) variables[name] = found;
      else if (!data && !reference.optional) throw new MountError(`${kind} "${reference.name}" not found`);
      else if (!reference.optional)
        throw new MountError(
          `couldn't find key ${reference.key} in ${kind} ${pod.metadata.namespace}/${reference.name}`,
        );
    } else if (valueFrom?.fieldRef) variables[name] = fieldOf(pod, valueFrom.fieldRef.fieldPath);
    else variables[name] = expanded(value, variables);
  }
  return variables;
}

/** `$(NAME)` is replaced where the name is known, `$$` is a dollar sign. */
export function expanded(text: string, variables: Readonly<Record<string, string>>): string {
  return text.replace(/\$\$|\$\(([^()]+)\)/g, (whole, name: string | undefined) =>
    name === undefined ? "$" : (variables[name] ?? whole),
  );
}

async function filesOf(client: ClusterClient, pod: KubeObject, volume: V1Volume): Promise<VolumeFile[]> {
  const { secret, configMap, projected, downwardAPI } = volume;
  if (secret)
    return sourceFiles(client, pod, volume.name, {
      kind: "secret",
      name: secret.secretName ?? "",
      items: secret.items,
      optional: secret.optional ?? false,
      defaultMode: secret.defaultMode ?? DEFAULT_MODE,
    });
  if (configMap)
    return sourceFiles(client, pod, volume.name, {
      kind: "configmap",
      name: configMap.name ?? "",
      items: configMap.items,
      optional: configMap.optional ?? false,
      defaultMode: configMap.defaultMode ?? DEFAULT_MODE,
    });
  if (downwardAPI) return projectedFiles(client, pod, volume.name, { downwardAPI }, DEFAULT_MODE);
  const lists = (projected?.sources ?? []).map((source) =>
    projectedFiles(client, pod, volume.name, source, projected?.defaultMode ?? DEFAULT_MODE),
  );
  return (await Promise.all(lists)).flat();
}

async function projectedFiles(
  client: ClusterClient,
  pod: KubeObject,
  volume: string,
  { secret, configMap, downwardAPI, serviceAccountToken }: V1VolumeProjection,
  defaultMode: number,
): Promise<VolumeFile[]> {
  const named = secret ?? configMap;
  if (named)
    return sourceFiles(client, pod, volume, {
      kind: secret ? "secret" : "configmap",
      name: named.name ?? "",
      items: named.items,
      optional: named.optional ?? false,
      defaultMode,
    });
  if (serviceAccountToken)
    return [{ path: serviceAccountToken.path, content: `token-of-${pod.metadata.uid}`, mode: defaultMode }];
  return (downwardAPI?.items ?? []).map(({ path, fieldRef, mode }) => ({
    path,
    content: fieldOf(pod, fieldRef?.fieldPath ?? ""),
    mode: mode ?? defaultMode,
  }));
}

async function sourceFiles(
  client: ClusterClient,
  pod: KubeObject,
  volume: string,
  { kind, name, items, optional, defaultMode }: Source,
): Promise<VolumeFile[]> {
  const failed = (why: string) => new MountError(`MountVolume.SetUp failed for volume "${volume}" : ${why}`);
  const data = await dataOf(client, pod, kind, name);
  if (!data) {
    if (optional) return [];
    throw failed(`${kind} "${name}" not found`);
  }
  const wanted = items ?? Object.keys(data).map((key) => ({ key, path: key }));
  return wanted.flatMap(({ key, path, mode }: V1KeyToPath) => {
    const content = data[key];
    if (content !== undefined) return [{ path, content, mode: mode ?? defaultMode }];
    if (optional) return [];
    throw failed(`references non-existent ${kind} key: ${key}`);
  });
}

/** Decoded; undefined when there is no such object. */
async function dataOf(
  client: ClusterClient,
  { metadata }: KubeObject,
  kind: "secret" | "configmap",
  name: string,
): Promise<Readonly<Record<string, string>> | undefined> {
  const found = await client.find(core(metadata.namespace ?? "", `${kind}s`, name));
  if (!found) return undefined;
  const data = (found["data"] ?? {}) as Record<string, string>;
  if (kind === "configmap") return data;
  return Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, Buffer.from(value, "base64").toString("utf8")]),
  );
}

/** metadata.name, spec.nodeName, metadata.labels['key'] and their like. */
function fieldOf(pod: KubeObject, path: string): string {
  const [, list, key] = /^metadata\.(labels|annotations)\['(.+)'\]$/.exec(path) ?? [];
  if (list !== undefined && key !== undefined)
    return pod.metadata[list as "labels" | "annotations"]?.[key] ?? "";
  let value: unknown = pod;
  for (const part of path.split("."))
    value =
      typeof value === "object" && value !== null ? (value as Record<string, unknown>)[part] : undefined;
  return value === undefined ? "" : String(value);
}
