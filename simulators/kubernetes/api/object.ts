import { randomInt } from "node:crypto";
import { isDeepStrictEqual } from "node:util";

export type JsonObject = { [field: string]: unknown };

interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

export interface ObjectMeta {
  name?: string;
  generateName?: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: OwnerReference[];
}

/** Any object of the API, as sent over HTTP. */
export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec?: JsonObject;
  status?: JsonObject;
  [field: string]: unknown;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Compares values as JSON: an absent field equals an undefined one. */
export function isSameJson(a: unknown, b: unknown): boolean {
  const plain = (value: unknown) => (value === undefined ? undefined : JSON.parse(JSON.stringify(value)));
  return isDeepStrictEqual(plain(a), plain(b));
}

/** Formats a metav1.Time, which has whole seconds. */
export function timestamp(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

/** Formats a metav1.MicroTime. */
export function microTimestamp(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, -1)}000Z`;
}

/** The alphabet of the API server's name generator, which has no vowels. */
const SUFFIX_CHARACTERS = "bcdfghjklmnpqrstvwxz2456789";

export function randomSuffix(length = 5): string {
  return Array.from({ length }, () => SUFFIX_CHARACTERS[randomInt(SUFFIX_CHARACTERS.length)]).join("");
}
