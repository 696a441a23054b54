import { createHash } from "node:crypto";
import { chmod, copyFile, mkdir, mkdtemp, readFile, realpath, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { execa } from "execa";
import type { ContainerEngine } from "./container-engine.ts";

const HASH_LABEL = "pbnj-worker.base-hash";
const CERTIFICATES = [
  "/etc/ssl/certs/ca-certificates.crt",
  "/etc/pki/tls/certs/ca-bundle.crt",
  "/etc/ssl/cert.pem",
];
/** Part of the contents' hash: increase it when `buildLocalBase` changes the layout. */
const LAYOUT_VERSION = "3";
const NODE_PATH = "/usr/local/bin/node";
const STRIP_PROGRAM = join(import.meta.dirname, "strip-node.ts");
/** Loaded by name at run time for resolving host names, so `ldd` does not list them. */
const NAME_SERVICE_LIBRARIES = ["libnss_dns.so.2", "libnss_files.so.2", "libresolv.so.2"];

const DOCKERFILE = `FROM scratch
COPY rootfs/ /
ENV PATH=/usr/local/bin SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt HOME=/tmp
ENTRYPOINT ["/usr/local/bin/node"]
`;

/**
 * Builds a base image from this Node and its shared libraries, for use without a registry. Like distroless images it has no
 * shell and no package manager. Does nothing if the engine already has it with the same contents.
 */
export async function buildLocalBase(engine: ContainerEngine, tag: string): Promise<void> {
  if (process.platform !== "linux") {
    throw new Error("a local base can only be made on Linux: give a base image with --base");
  }
  const files = await baseFiles();
  const hash = await hashFiles(files);
  if ((await labelOf(engine, tag)) === hash) return;
  const context = await mkdtemp(join(tmpdir(), "pbnj-base-"));
  try {
    const root = join(context, "rootfs");
    for (const [target, source] of files) {
      await mkdir(dirname(join(root, target)), { recursive: true });
      if (target === NODE_PATH) await execa(process.execPath, [STRIP_PROGRAM, source, join(root, target)]);
      else await copyFile(source, join(root, target));
    }
    await mkdir(join(root, "etc"), { recursive: true });
    await mkdir(join(root, "tmp"));
    // The engine uses this mode for a tmpfs over the folder; mkdir alone would apply the umask.
    await chmod(join(root, "tmp"), 0o1777);
    await writeFile(
      join(root, "etc/passwd"),
      "root:x:0:0:root:/:/none\nnonroot:x:65532:65532:nonroot:/tmp:/none\n",
    );
    await writeFile(join(root, "etc/group"), "root:x:0:\nnonroot:x:65532:\n");
    await writeFile(join(root, "etc/nsswitch.conf"), "passwd: files\ngroup: files\nhosts: files dns\n");
    await writeFile(join(context, "Dockerfile"), DOCKERFILE);
    await engine.run(["build", "--tag", tag, "--label", `${HASH_LABEL}=${hash}`, context]);
  } finally {
    await rm(context, { recursive: true, force: true });
  }
}

/** The source of each file by its path in the image. */
async function baseFiles(): Promise<ReadonlyMap<string, string>> {
  const node = await realpath(process.execPath);
  const files = new Map([[NODE_PATH, node]]);
  const libraries = librariesIn((await execa("ldd", [node], { timeout: 30_000 })).stdout);
  for (const library of libraries) files.set(library, await realpath(library));
  const libc = libraries.find((library) => /\/libc\.so\.6$/.test(library));
  for (const name of libc ? NAME_SERVICE_LIBRARIES : []) {
    const path = join(dirname(libc ?? ""), name);
    if (await exists(path)) files.set(path, await realpath(path));
  }
  for (const path of CERTIFICATES) {
    if (!(await exists(path))) continue;
    files.set("/etc/ssl/certs/ca-certificates.crt", await realpath(path));
    break;
  }
  return files;
}

/** `ldd` prints `name => /path (address)`, and the loader as `/path (address)`. */
export function librariesIn(lddOutput: string): readonly string[] {
  return [...lddOutput.matchAll(/(?:=>\s+|^\s*)(\/\S+)\s+\(0x/gm)].flatMap(([, path]) => path ?? []);
}

async function hashFiles(files: ReadonlyMap<string, string>): Promise<string> {
  const hash = createHash("sha256").update(LAYOUT_VERSION).update(DOCKERFILE);
  for (const [target, source] of [...files].sort()) hash.update(target).update(await readFile(source));
  return hash.digest("hex");
}

async function labelOf(engine: ContainerEngine, tag: string): Promise<string | undefined> {
  const format = `{{index .Config.Labels "${HASH_LABEL}"}}`;
  return engine.run(["image", "inspect", "--format", format, tag]).then(
    (text) => text.trim(),
    () => undefined,
  );
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
