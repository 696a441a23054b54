import * as z from "zod/mini";

/**
 * Stands in a connection file where a secret belongs that is a file of its own beside it, as one that a kubelet mounts from
 * a Secret: `{"password": {"$file": "password"}}`.
 */
export const FileReference = z.strictObject({
  /** A file's name, without any path. */
  $file: z.string().check(z.regex(/^[A-Za-z0-9_-][A-Za-z0-9._-]*$/, { error: "is not a file name" })),
});
export type FileReference = z.infer<typeof FileReference>;

/**
 * The document with every file reference replaced by what `read` gives for its file. Rejects with what `read` rejects with.
 */
export async function resolveFileReferences(
  document: unknown,
  read: (file: string) => Promise<string>,
): Promise<unknown> {
  if (typeof document !== "object" || document === null) return document;
  if (Array.isArray(document)) {
    return Promise.all(document.map((item) => resolveFileReferences(item, read)));
  }
  const reference = "$file" in document ? FileReference.safeParse(document) : undefined;
  if (reference?.success) return read(reference.data.$file);
  const entries = await Promise.all(
    Object.entries(document).map(
      async ([key, value]) => [key, await resolveFileReferences(value, read)] as const,
    ),
  );
  return Object.fromEntries(entries);
}
