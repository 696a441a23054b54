import type { QuirkNote } from "./behaviour-quirks.ts";

/** Repairs for entity tags that BMCs send but do not accept. */
export const etagRepairs: readonly (QuirkNote & {
  readonly pattern: RegExp;
  readonly replacement: string;
})[] = [
  {
    name: "etag-doubled-quotes",
    vendors: "some",
    reason: "the tag is quoted twice",
    source: "ansible-collections/community.general pull request 3268",
    pattern: /^(W\/)?"?\\?"+(?:([^"\\]+)\\?"+|\\"+)?$/,
    replacement: '$1"$2"',
  },
  {
    name: "etag-unquoted",
    vendors: "some",
    reason: "the tag is not quoted at all",
    source: "RFC 9110 section 8.8.3",
    pattern: /^(W\/)?([^"*]+)$/,
    replacement: '$1"$2"',
  },
  {
    name: "etag-gzip",
    vendors: "some",
    source: "Apache httpd, mod_deflate, DeflateAlterETag",
    reason: "a compressing front end adds -gzip, which the service does not know",
    pattern: /[-;]gzip"$/,
    replacement: '"',
  },
];

/** The entity tag of a resource, from its header or `@odata.etag`, in a form that can be sent back. */
export function readEtag(header: string | undefined, property: string | undefined): string | undefined {
  const found = header?.trim() || property?.trim();
  if (!found) return undefined;
  return etagRepairs.reduce((etag, { pattern, replacement }) => etag.replace(pattern, replacement), found);
}

/** The weak form of a strong tag, and the reverse (RFC 9110 section 8.8.3). */
export function otherStrength(etag: string): string {
  return etag.startsWith("W/") ? etag.slice(2) : `W/${etag}`;
}

/** The tag without quotes, because some BMCs compare it with a stored value without them. */
export function unquoted(etag: string): string {
  return etag.replace(/^W\//, "").replace(/^"(.*)"$/, "$1");
}
