/**
 * A path without the slashes at its end; `/` is kept. Takes linear time, because a BMC's link may end with any number of
 * them.
 */
export function withoutEndSlashes(path: string): string {
  return path.replace(/(?<=[^/])\/+$/, "");
}
