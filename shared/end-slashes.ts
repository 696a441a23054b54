/** A path without the slashes at its end; `/` stays. Linear, as a BMC's link may have any number of them. */
export function withoutEndSlashes(path: string): string {
  return path.replace(/(?<=[^/])\/+$/, "");
}
