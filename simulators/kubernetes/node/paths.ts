import { type KubeObject, microTimestamp, randomSuffix, timestamp } from "../api/object.ts";

export interface Place {
  readonly namespace: string;
  readonly name: string;
}

export function placeOf({ metadata }: Pick<KubeObject, "metadata">): Place {
  return { namespace: metadata.namespace ?? "default", name: metadata.name ?? "" };
}

/** Returns the path of an object of the core group, or of all objects of its kind. */
export function corePath(namespace: string, resource: string, name?: string, subresource?: string): string {
  const parts = ["/api/v1/namespaces", namespace, resource, name, subresource];
  return parts.filter((part) => part !== undefined).join("/");
}

export function podPath(pod: Pick<KubeObject, "metadata">, subresource?: string): string {
  const { namespace, name } = placeOf(pod);
  return corePath(namespace, "pods", name, subresource);
}

/** Makes an Event about the object, like those of a cluster's components. */
export function eventOf(
  { apiVersion, kind, metadata }: KubeObject,
  component: string,
  { type, reason, message }: { readonly type: "Normal" | "Warning"; reason: string; message: string },
  now: number,
): object {
  const { name = "", namespace = "", uid = "" } = metadata;
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name: `${name}.${randomSuffix(16)}`, namespace },
    involvedObject: { apiVersion, kind, name, namespace, uid },
    type,
    reason,
    message,
    source: { component },
    firstTimestamp: timestamp(now),
    lastTimestamp: timestamp(now),
    eventTime: microTimestamp(now),
    action: reason,
    reportingComponent: component,
    reportingInstance: component,
  };
}
