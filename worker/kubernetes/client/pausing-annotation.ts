import * as z from "zod/mini";

/**
 * Annotations of objects that every controller leaves alone: paused ones (Cluster API, Metal3), and those that
 * `clusterctl move` is about to delete because they are in another cluster by now.
 */
const PAUSING = [
  "cluster.x-k8s.io/paused",
  "clusterctl.cluster.x-k8s.io/delete-for-move",
  "baremetalhost.metal3.io/paused",
];

const Annotated = z.object({
  metadata: z.object({ annotations: z.optional(z.record(z.string(), z.unknown())) }),
});

/** The annotation that pauses an object, whatever its value. */
export function pausingAnnotation(object: unknown): string | undefined {
  const { annotations = {} } = Annotated.safeParse(object).data?.metadata ?? {};
  return PAUSING.find((name) => Object.hasOwn(annotations, name));
}
