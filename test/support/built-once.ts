import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { projectRoot } from "../../scripts/project-root.ts";

/** A name for what is built from these files and folders of the project: the same for the same contents. */
export async function contentHash(sources: readonly string[], ...more: readonly string[]): Promise<string> {
  const hash = createHash("sha256").update(JSON.stringify(more));
  for (const path of (await Promise.all(sources.map(filesOf))).flat().sort()) {
    hash.update(`${path}\0`).update(await readFile(join(projectRoot, path)));
  }
  return hash.digest("hex").slice(0, 16);
}

async function filesOf(source: string): Promise<readonly string[]> {
  const path = join(projectRoot, source);
  const entries = await readdir(path, { recursive: true, withFileTypes: true }).catch(() => undefined);
  if (!entries) return [source];
  const files = entries.filter((each) => each.isFile());
  return files.map(({ parentPath, name }) => join(source, parentPath.slice(path.length), name));
}

/**
 * Test files run in processes of their own: the first one builds, the others wait for it. Released when disposed, or when
 * the process ends.
 */
export async function exclusively(what: string): Promise<DatabaseSync> {
  const database = new DatabaseSync(join(tmpdir(), `pbnj-worker-test-${what}.lock`), { timeout: 0 });
  for (;;) {
    try {
      database.exec("BEGIN EXCLUSIVE");
      return database;
    } catch {
      await sleep(100);
    }
  }
}
