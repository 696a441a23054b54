import { basename, dirname } from "node:path";

/**
 * The part of node:fs/promises that a journal uses, in memory: `vi.mock("node:fs/promises", () => import("…/virtual-disk.ts"))`.
 * It knows what a loss of power leaves: the content and the names that were synced.
 */
interface Inode {
  text: string;
  synced: string | undefined;
}

/** What a loss of power leaves: only what was synced, every name but no content that was not synced, or half of that content. */
export type PowerLoss = "synced" | "names" | "torn";

class VirtualDisk {
  /** Called before each change, with a name for it. */
  beforeStep: (name: string) => Promise<void> = async () => undefined;
  readonly folders = new Set<string>();
  names = new Map<string, Inode>();
  syncedNames = new Map<string, Inode>();

  format(): void {
    this.folders.clear();
    this.names.clear();
    this.syncedNames.clear();
  }

  losePower(leaves: PowerLoss): void {
    if (leaves === "synced") this.names = new Map(this.syncedNames);
    for (const inode of this.names.values()) {
      const { text, synced = "" } = inode;
      const kept = leaves === "torn" && text.startsWith(synced) ? (text.length - synced.length) / 2 : 0;
      inode.text = synced + text.slice(synced.length, synced.length + kept);
    }
  }
}

export const disk = new VirtualDisk();

export const constants = { O_RDONLY: 0, O_NOFOLLOW: 0, O_NONBLOCK: 0 };

export async function mkdir(path: string): Promise<void> {
  for (let each = path; each !== dirname(each); each = dirname(each)) disk.folders.add(each);
}

export async function readdir(path: string): Promise<string[]> {
  return [...disk.folders, ...disk.names.keys()]
    .filter((name) => dirname(name) === path)
    .map((name) => basename(name));
}

export async function rename(from: string, to: string): Promise<void> {
  const inode = find(from);
  await disk.beforeStep(`rename ${nameOf(inode.text)}`);
  disk.names.delete(from);
  disk.names.set(to, inode);
}

export async function rm(path: string): Promise<void> {
  if (disk.names.has(path)) await unlink(path);
}

export async function unlink(path: string): Promise<void> {
  await disk.beforeStep(`remove ${nameOf(find(path).text)}`);
  disk.names.delete(path);
}

export async function link(from: string, to: string): Promise<void> {
  await disk.beforeStep(`link ${basename(from)}`);
  disk.names.set(to, find(from));
}

export async function open(path: string, flags: string | number) {
  if (disk.folders.has(path)) return { sync: () => syncNames(path), close };
  if (flags === "w") disk.names.set(path, { text: "", synced: undefined });
  const inode = find(path);
  return {
    close,
    stat: async () => ({ isFile: () => true, size: inode.text.length, blocks: inode.text === "" ? 0 : 8 }),
    readFile: async () => inode.text,
    async writeFile(text: string) {
      await disk.beforeStep(`write ${nameOf(text)}`);
      inode.text = text;
    },
    async write(text: string) {
      const half = text.slice(0, text.length / 2);
      inode.text += half;
      await disk.beforeStep(`append ${nameOf(text)}`);
      inode.text += text.slice(half.length);
      return { bytesWritten: text.length };
    },
    truncate: async (length: number) => {
      inode.text = inode.text.slice(0, length);
    },
    async sync() {
      await disk.beforeStep(`sync ${nameOf(inode.text)}`);
      inode.synced = inode.text;
    },
  };
}

async function close(): Promise<void> {}

async function syncNames(folder: string): Promise<void> {
  await disk.beforeStep(`sync ${basename(folder)}`);
  const isInFolder = ([name]: readonly [string, Inode]) => dirname(name) === folder;
  const elsewhere = [...disk.syncedNames].filter((each) => !isInFolder(each));
  disk.syncedNames = new Map([...elsewhere, ...[...disk.names].filter(isInFolder)]);
}

function find(path: string): Inode {
  const inode = disk.names.get(path);
  if (!inode) throw Object.assign(new Error(`ENOENT: no such file, open '${path}'`), { code: "ENOENT" });
  return inode;
}

/** For a step that has to do with this entry. */
function nameOf(text: string): string {
  return text === ""
    ? "nothing"
    : `"${/.*"phase":"(\w+)"/s.exec(text)?.[1]}" of ${/"name":"([\w-]+)"/.exec(text)?.[1]}`;
}
