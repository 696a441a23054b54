import { chmod, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A folder for one test, and what is closed before it is removed. */
export async function openFolder() {
  const folder = await mkdtemp(join(tmpdir(), "pbnj-test-"));
  const owned = new AsyncDisposableStack();
  owned.defer(() => rm(folder, { recursive: true, force: true }));
  const path = (name: string) => join(folder, name);
  return {
    folder,
    path,
    /** Writes a file in one step, an object as JSON, which is YAML; resolves to its path. */
    async write(name: string, content: string | object, mode = 0o600): Promise<string> {
      const text = typeof content === "string" ? content : JSON.stringify(content, undefined, 2);
      await writeFile(path(`${name}.new`), text);
      await chmod(path(`${name}.new`), mode);
      await rename(path(`${name}.new`), path(name));
      return path(name);
    },
    /** Closes it with the folder, before all that is there already. */
    own: <T extends AsyncDisposable>(one: T): T => owned.use(one),
    /** Does this when the folder is closed, before it closes what is there already. */
    defer: (close: () => Promise<void> | void) => owned.defer(close),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

export type Folder = Awaited<ReturnType<typeof openFolder>>;
