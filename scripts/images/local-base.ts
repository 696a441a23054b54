import { createHash } from "node:crypto";
import { mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BaseFiles, baseFiles, writeBase } from "./base-files.ts";
import type { ContainerEngine } from "./container-engine.ts";

const HASH_LABEL = "pbnj-worker.base-hash";
/** Part of the contents' hash: increase it when `writeBase` changes the layout. */
const LAYOUT_VERSION = "5";

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
  const files = baseFiles("/", await realpath(process.execPath));
  const hash = await hashFiles(files);
  if ((await labelOf(engine, tag)) === hash) return;
  const context = await mkdtemp(join(tmpdir(), "pbnj-base-"));
  try {
    writeBase(files, join(context, "rootfs"));
    await writeFile(join(context, "Dockerfile"), DOCKERFILE);
    await engine.run(["build", "--tag", tag, "--label", `${HASH_LABEL}=${hash}`, context]);
  } finally {
    await rm(context, { recursive: true, force: true });
  }
}

async function hashFiles({ copied, written }: BaseFiles): Promise<string> {
  const hash = createHash("sha256").update(LAYOUT_VERSION).update(DOCKERFILE);
  for (const [target, source] of [...copied].sort()) hash.update(target).update(await readFile(source));
  for (const [target, text] of [...written].sort()) hash.update(target).update(text);
  return hash.digest("hex");
}

async function labelOf(engine: ContainerEngine, tag: string): Promise<string | undefined> {
  const format = `{{index .Config.Labels "${HASH_LABEL}"}}`;
  return engine.run(["image", "inspect", "--format", format, tag]).then(
    (text) => text.trim(),
    () => undefined,
  );
}
