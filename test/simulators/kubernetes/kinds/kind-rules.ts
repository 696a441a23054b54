import type { KubeObject } from "../api/object.ts";
import type { FieldErrors } from "../validation/field-errors.ts";

/** What one built-in kind adds to the rules for every object. All objects have been decoded. */
export interface KindRules {
  /** Fills in what the server does on creation, in place; the metadata is complete. */
  prepare?(object: KubeObject): void;
  /** Fills in defaults, in place, on every write. */
  complete?(object: KubeObject): void;
  /** Writes a status as Go encodes it, in place, on every update. */
  completeStatus?(object: KubeObject): void;
  check(errors: FieldErrors, object: KubeObject): void;
  checkUpdate?(errors: FieldErrors, next: KubeObject, previous: KubeObject): void;
  checkStatus?(errors: FieldErrors, next: KubeObject, previous: KubeObject): void;
}
