import type { Schema } from "../custom/schema.ts";

/** One kind of object that the API serves, as discovery describes it. */
export interface ResourceType {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly namespaced: boolean;
  readonly shortNames?: readonly string[];
  /** Besides the object itself: `status`, `log`, `binding`. */
  readonly subresources: readonly string[];
  /** Asked with `create` and answered, never stored. */
  readonly virtual?: true;
  /** Only custom resources have one; the others are checked by the fields of their models. */
  readonly schema?: Schema;
  /** Kinds of which an update must name the version it read. */
  readonly updateNeedsVersion?: true;
  /** A PUT to a name that nobody has makes the object. */
  readonly createsOnUpdate?: true;
  readonly listFields?: readonly string[];
}

export function apiVersionOf({
  group,
  version,
}: {
  readonly group: string;
  readonly version: string;
}): string {
  return group === "" ? version : `${group}/${version}`;
}

/** Different for two types, also for two versions of one. */
export function keyOf(type: ResourceType): string {
  return `${apiVersionOf(type)}/${type.plural}`;
}
