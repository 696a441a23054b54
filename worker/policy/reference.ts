/** Kinds of objects that another namespace's objects may name. */
export const REFERENCE_KINDS = ["Secret", "Machine", "Hardware", "BareMetalHost"] as const;
type ReferenceKind = (typeof REFERENCE_KINDS)[number];

/** A reference from one object to another one of the same cluster. */
export interface Reference {
  /** The referring object; `name` is absent for a Workflow, of which only the namespace is known. */
  readonly from: { readonly kind: string; readonly namespace: string; readonly name?: string };
  readonly to: {
    /** `address` for the host of a BMC or service, which has no namespace of its own. */
    readonly kind: ReferenceKind | "address";
    readonly namespace: string;
    readonly name: string;
  };
  /** The machine source of both objects; absent means the worker's own cluster. */
  readonly source?: string;
}

/** Why an object must not refer to another one; undefined if it may. */
export type ReferenceRefusal = (reference: Reference) => string | undefined;

/** The rule without a policy: references stay in their namespace. */
export const ownNamespaceOnly: ReferenceRefusal = (reference) =>
  staysInNamespace(reference) ? undefined : `${referenceText(reference)}, which is in another namespace`;

export function staysInNamespace({ from, to }: Reference): boolean {
  return from.namespace === to.namespace;
}

export function referenceText({ from, to }: Reference): string {
  const who = from.name === undefined ? from.namespace : `${from.namespace}/${from.name}`;
  return `${from.kind} ${who} may not use ${to.kind} ${to.namespace}/${to.name}`;
}
