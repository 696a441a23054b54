import { withoutEndSlashes } from "../../../../end-slashes.ts";

/** The spelling in which paths are compared, because some BMCs end them with a slash, or mix the case. */
export function pathKey(path: string): string {
  return withoutEndSlashes(path).toLowerCase();
}

export function samePath(one: string, other: string): boolean {
  return pathKey(one) === pathKey(other);
}

/** The last part of a path, which is usually the `Id` of its resource. */
export function lastPart(path: string): string {
  return withoutEndSlashes(path).split("/").at(-1) ?? path;
}
