import * as z from "zod/mini";
import type { Pause } from "../../core/action/machine-facts.ts";
import { type Finding, skippedFinding } from "../../findings/finding.ts";
import type { Cluster } from "../../kubernetes/client/cluster.ts";
import { KINDS, type Kind, keyOf, type ObjectName } from "../../kubernetes/client/kinds.ts";
import { KubernetesError } from "../../kubernetes/client/kubernetes-error.ts";
import { pausingAnnotation } from "../../kubernetes/client/pausing-annotation.ts";
import { pauseNote, pauseOf } from "../../machines/pause.ts";
import type { Describe } from "./described-machine.ts";
import type { ClusterSource } from "./machine-index.ts";

const Labelled = z.object({ metadata: z.object({ labels: z.record(z.string(), z.string()) }) });

/** Adds the object's labels and the annotation that takes its machine out of service. */
export function withMetadata<Content>(kind: Kind, describe: Describe<Content>): Describe<Content> {
  return (object, name) => {
    const described = describe(object, name);
    const labels = Labelled.safeParse(object).data?.metadata.labels;
    return described && { ...described, paused: pauseIn(object, kind, name), labels };
  };
}

function pauseIn(object: unknown, { kind }: Kind, name: ObjectName): Pause | undefined {
  const annotation = pausingAnnotation(object);
  return annotation && pauseOf(annotation.reason, `annotation ${annotation.name} of ${kind} ${keyOf(name)}`);
}

const LISTED: Readonly<Record<ClusterSource, readonly Kind[]>> = {
  machines: [KINDS.rufioMachine],
  hardware: [KINDS.hardware, KINDS.hardwareV1Alpha2],
  baremetalhosts: [KINDS.bareMetalHost],
};
const Named = z.looseObject({ metadata: z.looseObject({ namespace: z.string(), name: z.string() }) });

/** Reports the paused machines. Another check reports why objects cannot be listed. */
export async function checkPaused(
  cluster: Cluster,
  {
    inventory,
    watchNamespace,
  }: { readonly inventory: readonly ClusterSource[]; readonly watchNamespace: string },
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const namespace = watchNamespace === "*" ? undefined : watchNamespace;
  const found = new Map<string, Finding>();
  for (const kind of inventory.flatMap((source) => LISTED[source])) {
    for (const object of await listed(cluster, kind, namespace, signal)) {
      const paused = pauseIn(object, kind, object.metadata);
      // A CRD may serve a Hardware in two versions, so it is reported by name.
      const subject = `${kind.kind} ${keyOf(object.metadata)}`;
      if (paused) found.set(subject, skippedFinding("cluster", pauseNote(paused), subject));
    }
  }
  return [...found.values()];
}

async function listed(
  cluster: Cluster,
  kind: Kind,
  namespace: string | undefined,
  signal: AbortSignal,
): Promise<readonly z.infer<typeof Named>[]> {
  try {
    return (await cluster.list(kind, { namespace }, Named, signal)).items;
  } catch (thrown) {
    if (thrown instanceof KubernetesError) return [];
    throw thrown;
  }
}
