import * as z from "zod/mini";

/**
 * Replaces a secret in a connection file if the secret is in a separate file of the same folder, for example one that a
 * kubelet mounts from a Secret: `{"password": {"$file": "password"}}`.
 */
export const FileReference = z.strictObject({
  /** A file's name, without any path. */
  $file: z.string().check(z.regex(/^[A-Za-z0-9_-][A-Za-z0-9._-]*$/, { error: "is not a file name" })),
});
export type FileReference = z.infer<typeof FileReference>;

/** The fields of a connection that contain a login or a signing secret. `*` matches any key or index. */
const PLACES: readonly (readonly string[])[] = [
  ["username"],
  ["password"],
  ["ipmi", "kg"],
  ["ipmitool", "kg"],
  ["rpc", "signature", "secrets", "*"],
  ["rpc", "signature", "secrets", "*", "*"],
];

/**
 * Replaces every file reference in place of a secret by the content that `read` returns. Elsewhere, such as in the payload
 * of a webhook, a reference is plain text from the object's author, because a secret there would be sent in plain text.
 * Rejects with the error of `read`.
 */
export function resolveFileReferences(
  document: unknown,
  read: (file: string) => Promise<string>,
): Promise<unknown> {
  return resolveAt(document, PLACES, read);
}

/** Resolves references in `value`. `places` are the remaining parts of the places that begin with its path. */
async function resolveAt(
  value: unknown,
  places: readonly (readonly string[])[],
  read: (file: string) => Promise<string>,
): Promise<unknown> {
  if (typeof value !== "object" || value === null || places.length === 0) return value;
  if (places.some((place) => place.length === 0)) {
    const reference = FileReference.safeParse(value);
    if (reference.success) return read(reference.data.$file);
  }
  const below = (key: string) =>
    places.flatMap(([first, ...rest]) => (first === key || first === "*" ? [rest] : []));
  const entries = await Promise.all(
    Object.entries(value).map(
      async ([key, inner]) => [key, await resolveAt(inner, below(key), read)] as const,
    ),
  );
  return Array.isArray(value) ? entries.map(([, inner]) => inner) : Object.fromEntries(entries);
}
