import type { V1Container, V1KeyToPath, V1Volume, V1VolumeProjection } from "@kubernetes/client-node";
import { isObject, type KubeObject } from "../api/object.ts";
import type { ClusterClient } from "./cluster-client.ts";
import { corePath, placeOf } from "./paths.ts";
import { podSpecOf } from "./pod-status.ts";

/** A file inside a container. */
export interface MountedFile {
  /** The absolute path in the container. */
  readonly path: string;
  readonly content: string;
  readonly mode: number;
}

/** The kubelet's message about why a container cannot be created yet. */
export class MountError extends Error {}

const DEFAULT_MODE = 0o644;

/** Returns the files of Secrets and of the downward API in the volumes that the container mounts. */
export async function mountedFiles(
  client: ClusterClient,
  pod: KubeObject,
  container: V1Container,
): Promise<MountedFile[]> {
  const files: MountedFile[] = [];
  for (const { name, mountPath } of container.volumeMounts ?? []) {
    const volume = podSpecOf(pod).volumes?.find((one) => one.name === name);
    if (!volume) throw new MountError(`volume "${name}" is not among the pod's`);
    for (const file of await volumeFiles(client, pod, volume))
      files.push({ ...file, path: `${mountPath}/${file.path}` });
  }
  return files;
}

async function volumeFiles(client: ClusterClient, pod: KubeObject, volume: V1Volume): Promise<MountedFile[]> {
  const { name, secret, projected } = volume;
  const { secretName = "", items } = secret ?? {};
  const sources: readonly V1VolumeProjection[] = secret
    ? [{ secret: { name: secretName, ...(items && { items }) } }]
    : (projected?.sources ?? []);
  const mode = secret?.defaultMode ?? projected?.defaultMode ?? DEFAULT_MODE;
  const files: MountedFile[] = [];
  for (const source of sources) {
    for (const { path, fieldRef } of source.downwardAPI?.items ?? [])
      files.push({ path, content: fieldOf(pod, fieldRef?.fieldPath ?? ""), mode });
    if (source.secret) files.push(...(await secretFiles(client, pod, name, source.secret, mode)));
  }
  return files;
}

async function secretFiles(
  client: ClusterClient,
  pod: KubeObject,
  volume: string,
  { name = "", items }: NonNullable<V1VolumeProjection["secret"]>,
  mode: number,
): Promise<MountedFile[]> {
  const failed = (why: string) => new MountError(`MountVolume.SetUp failed for volume "${volume}" : ${why}`);
  const secret = await client.find(corePath(placeOf(pod).namespace, "secrets", name));
  if (!secret) throw failed(`secret "${name}" not found`);
  const data = (secret["data"] ?? {}) as Readonly<Record<string, string>>;
  const wanted: readonly V1KeyToPath[] = items ?? Object.keys(data).map((key) => ({ key, path: key }));
  return wanted.map(({ key, path }) => {
    const value = data[key];
    if (value === undefined) throw failed(`references non-existent secret key: ${key}`);
    return { path, content: Buffer.from(value, "base64").toString("utf8"), mode };
  });
}

/** Reads a field such as `metadata.name` or `metadata.annotations['key']`. */
function fieldOf(pod: KubeObject, path: string): string {
  const [, annotation] = /^metadata\.annotations\['(.+)'\]$/.exec(path) ?? [];
  if (annotation !== undefined) return pod.metadata.annotations?.[annotation] ?? "";
  let value: unknown = pod;
  for (const part of path.split(".")) value = isObject(value) ? value[part] : undefined;
  return value === undefined ? "" : String(value);
}
