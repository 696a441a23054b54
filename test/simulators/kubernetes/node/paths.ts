import type { KubeObject } from "../api/object.ts";

/** A name, of the namespace `default`, or with its namespace as `namespace/name`, or an object. */
export type Reference =
  | string
  | { readonly metadata?: { readonly name?: string; readonly namespace?: string } };

export interface Place {
  readonly namespace: string;
  readonly name: string;
}

export function placeOf(reference: Reference): Place {
  if (typeof reference !== "string") {
    const { name = "", namespace = "default" } = reference.metadata ?? {};
    return { namespace, name };
  }
  const [first = "", second] = reference.split("/");
  return second === undefined ? { namespace: "default", name: first } : { namespace: first, name: second };
}

export function podPath({ namespace, name }: Place, subresource = ""): string {
  return core(namespace, "pods", name, subresource);
}

export function jobPath({ namespace, name }: Place, subresource = ""): string {
  return `/apis/batch/v1/namespaces/${namespace}/jobs/${name}${subresource === "" ? "" : `/${subresource}`}`;
}

export function core(namespace: string, resource: string, name = "", subresource = ""): string {
  return ["/api/v1/namespaces", namespace, resource, name, subresource]
    .filter((part) => part !== "")
    .join("/");
}

/** How an Event names what it is about. */
export function involved({ apiVersion, kind, metadata }: KubeObject): Record<string, string> {
  const { name = "", namespace = "", uid = "" } = metadata;
  return { apiVersion, kind, name, namespace, uid };
}
