import * as z from "zod/mini";

/**
 * Takes the place of a secret in a connection file if the secret is a separate file in the same folder, such as one that a
 * kubelet mounts from a Secret: `{"password": {"$file": "password"}}`.
 */
export const FileReference = z.strictObject({
  /** A file's name, without any path. */
  $file: z.string().check(z.regex(/^[A-Za-z0-9_-][A-Za-z0-9._-]*$/, { error: "is not a file name" })),
});
export type FileReference = z.infer<typeof FileReference>;

/** The fields of a connection that hold a login or a signing secret. `*` is any key or index. */
const PLACES: readonly (readonly string[])[] = [
  ["username"],
  ["password"],
  ["ipmi", "kg"],
  ["ipmitool", "kg"],
  ["rpc", "signature", "secrets", "*"],
  ["rpc", "signature", "secrets", "*", "*"],
];

/**
 * The document with every file reference in a secret's place replaced by the content that `read` returns. Anywhere else, such
 * as in the payload of a webhook, a reference is plain text of the object's author: a secret there would be sent in the
 * clear. Rejects with the error of `read`.
 */
export function resolveFileReferences(
  document: unknown,
  read: (file: string) => Promise<string>,
): Promise<unknown> {
  return resolveAt(document, PLACES, read);
}

/** `places`: what is left of the places that begin with the path of `value`. */
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
