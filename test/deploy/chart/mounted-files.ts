import { allOf, ConfigMap, type Manifest, type PodTemplate, type Volume } from "./manifest.ts";

/** The files of a pod by their path; throws where what is mounted is neither made by the chart nor `present`. */
export function mountedFiles(
  { spec }: PodTemplate,
  manifests: readonly Manifest[],
  present: Readonly<Record<string, string>>,
): ReadonlyMap<string, string> {
  const made = allOf(manifests, ["ConfigMap"], ConfigMap).flatMap(({ metadata, data }) =>
    Object.entries(data).map(([key, text]) => [`configMap/${metadata.name}/${key}`, text] as const),
  );
  const held = new Map([...Object.entries(present), ...made]);
  const [container] = spec.containers;
  const files = new Map<string, string>();
  for (const { name, mountPath } of container.volumeMounts) {
    const volume = spec.volumes.find((each) => each.name === name);
    for (const { kind, object, items } of volume ? sourcesOf(volume) : []) {
      for (const { key, path } of items ?? keysOf(held, `${kind}/${object}/`)) {
        const text = held.get(`${kind}/${object}/${key}`);
        if (text === undefined) throw new Error(`${kind} ${object} has no key ${key}`);
        files.set(`${mountPath}/${path}`, text);
      }
    }
  }
  return files;
}

interface Source {
  readonly kind: "configMap" | "secret";
  readonly object: string;
  readonly items?: readonly { readonly key: string; readonly path: string }[] | undefined;
}

function sourcesOf({ projected, secret }: Volume): readonly Source[] {
  if (secret) return [{ kind: "secret", object: secret.secretName }];
  return (projected?.sources ?? []).flatMap(({ configMap, secret: projectedSecret }): readonly Source[] => {
    if (configMap) return [{ kind: "configMap", object: configMap.name, items: configMap.items }];
    if (projectedSecret)
      return [{ kind: "secret", object: projectedSecret.name, items: projectedSecret.items }];
    return [];
  });
}

function keysOf(held: ReadonlyMap<string, string>, prefix: string) {
  const keys = [...held.keys()]
    .filter((name) => name.startsWith(prefix))
    .map((name) => name.slice(prefix.length));
  if (keys.length === 0) throw new Error(`there is no ${prefix}`);
  return keys.map((key) => ({ key, path: key }));
}
