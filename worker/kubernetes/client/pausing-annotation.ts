import * as z from "zod/mini";

/** An annotation that pauses an object. */
export interface PausingAnnotation {
  readonly name: string;
  /** Text from a user of the cluster, so it is untrusted. */
  readonly reason: string;
}

/** This worker's own annotation, which takes a machine out of service. Other controllers do not know it. */
const OWN = "pbnj-worker/paused";
const NO_REASON = "no reason given";

/**
 * Annotations that take an object's machine out of service, whatever their value, and the reason to show if the value is
 * empty. The first one that is set gives the reason. Controllers of Cluster API and Metal3 ignore paused objects, and objects
 * that `clusterctl move` has copied to another cluster and is about to delete.
 */
const PAUSING: Readonly<Record<string, string>> = {
  [OWN]: NO_REASON,
  "baremetalhost.metal3.io/paused": NO_REASON,
  "cluster.x-k8s.io/paused": NO_REASON,
  "clusterctl.cluster.x-k8s.io/delete-for-move": "the object is moved to another cluster",
};

const Annotated = z.object({
  metadata: z.object({ annotations: z.optional(z.record(z.string(), z.unknown())) }),
});

/** Finds an annotation that takes the object's machine out of service. */
export function pausingAnnotation(object: unknown): PausingAnnotation | undefined {
  return find(object, Object.keys(PAUSING));
}

/** Finds an annotation that stops other controllers as well. */
export function controllerPause(object: unknown): PausingAnnotation | undefined {
  return find(
    object,
    Object.keys(PAUSING).filter((name) => name !== OWN),
  );
}

function find(object: unknown, names: readonly string[]): PausingAnnotation | undefined {
  const { annotations = {} } = Annotated.safeParse(object).data?.metadata ?? {};
  const name = names.find((one) => Object.hasOwn(annotations, one));
  if (name === undefined) return undefined;
  const value = String(annotations[name]).trim();
  // Cluster API's own tools set "true", which explains nothing.
  const reason = value === "" || value === "true" ? PAUSING[name] : value;
  return { name, reason: reason ?? NO_REASON };
}
