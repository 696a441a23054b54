import type { QuirkNote } from "./behaviour-quirks.ts";

/** Entity tags that BMCs send but do not take back. */
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

/** The tag's text alone: some BMCs compare it with what they keep without quotes. */
export function unquoted(etag: string): string {
  return etag.replace(/^W\//, "").replace(/^"(.*)"$/, "$1");
}
