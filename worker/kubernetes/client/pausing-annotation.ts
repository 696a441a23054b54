import * as z from "zod/mini";

/** An annotation that pauses an object. */
export interface PausingAnnotation {
  readonly name: string;
  /** Untrusted text. */
  readonly reason: string;
}

/** This worker's own: it takes a machine out of service, and no other controller knows it. */
const OWN = "pbnj-worker/paused";
const NO_REASON = "no reason given";

/**
 * Annotations that take an object's machine out of service, whatever their value, with the reason to use if the value is
 * empty. Every controller ignores paused objects (Cluster API, Metal3), and objects that `clusterctl move` is about to delete
 * because they are already in another cluster. The first annotation that is set gives the reason.
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

export function pausingAnnotation(object: unknown): PausingAnnotation | undefined {
  return find(object, Object.keys(PAUSING));
}

/** One that stops other controllers, too. */
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
  // Cluster API's own tools set "true", which is no reason.
  const reason = value === "" || value === "true" ? PAUSING[name] : value;
  return { name, reason: reason ?? NO_REASON };
}
