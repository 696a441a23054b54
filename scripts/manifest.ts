import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";

/** A person in npm's formats: `Name <address> (url)`, or the same as an object. */
const Person = z.union([
  z.string().transform((text) => ({
    name: text.replace(/[<(].*$/s, "").trim(),
    email: /<([^>]*)>/.exec(text)?.[1],
  })),
  z.object({ name: z.string(), email: z.string().optional() }),
]);

const Address = z.union([z.string(), z.object({ url: z.string() }).transform(({ url }) => url)]);

/** The parts of package.json that scripts use. */
export const Manifest = z.object({
  name: z.string(),
  version: z
    .string()
    .regex(/^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/, "is not a version such as 1.2.3 or 1.2.3-rc.1"),
  license: z.string(),
  keywords: z.array(z.string()).default([]),
  homepage: z.string().optional(),
  repository: Address.transform(webAddress).optional(),
  bugs: Address.optional(),
  /** A path. */
  icon: z.string().optional(),
  author: Person.optional(),
  maintainers: z.array(Person).optional(),
});
export type Manifest = z.infer<typeof Manifest>;

export async function readManifest(root: string): Promise<Manifest> {
  return Manifest.parse(JSON.parse(await readFile(join(root, "package.json"), "utf8")));
}

/** A repository in npm's formats as the address of its page: `git+https://host/a/b.git`, `github:a/b`. */
function webAddress(repository: string): string {
  const hosted = /^(?:(github|gitlab|bitbucket):)?([\w.-]+\/[\w.-]+)$/.exec(repository);
  if (hosted) {
    const [, host = "github", path] = hosted;
    return `https://${host}.${host === "bitbucket" ? "org" : "com"}/${path}`;
  }
  return repository
    .replace(/^git\+/, "")
    .replace(
      /^(?:ssh|git):\/\/(?:git@)?|^git@([^:/]+):/,
      (_, host?: string) => `https://${host ? `${host}/` : ""}`,
    )
    .replace(/\.git$/, "");
}
