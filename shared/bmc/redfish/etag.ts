import { etagRepairs } from "./quirks.ts";

/** The entity tag of a resource, from its header or `@odata.etag`, in a form that may be sent back. */
export function readEtag(header: string | undefined, property: string | undefined): string | undefined {
  const found = header?.trim() || property?.trim();
  if (!found) return undefined;
  return etagRepairs.reduce((etag, { pattern, replacement }) => etag.replace(pattern, replacement), found);
}

/** The weak form of a strong tag and the other way round (RFC 9110 section 8.8.3). */
export function otherStrength(etag: string): string {
  return etag.startsWith("W/") ? etag.slice(2) : `W/${etag}`;
}
