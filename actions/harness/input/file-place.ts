import { fstatSync } from "node:fs";
import { realpath, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { givenValue, type ValueSources } from "../../../shared/contract/given.ts";
import { connectionFieldTable, connectionFile } from "./connection-input.ts";

/** Folders of the kernel and the cluster, with the environments of processes and tokens. */
const SYSTEM_FOLDERS = ["/proc", "/sys", "/run/secrets/kubernetes.io", "/var/run/secrets/kubernetes.io"];

/** Files and folders that hold an action's connection, with all links resolved. */
export interface ConnectionPlaces {
  readonly folders: readonly string[];
  readonly files: readonly string[];
  /** Whether the connection or a part of it is read from standard input. */
  readonly stdin: boolean;
}

/** Returns where the connection comes from: the folder of a connection file, which also holds its secrets, or single files. */
export async function connectionPlaces(sources: ValueSources): Promise<ConnectionPlaces> {
  const whole = givenValue(connectionFile.env, sources)?.text;
  const folders = whole === undefined || whole === "-" ? [] : [await follow(dirname(whole))];
  // A mounted Secret consists of links.
  if (whole !== undefined && whole !== "-") folders.push(dirname(await follow(whole)));
  const single = connectionFieldTable
    .filter(({ type }) => type === "file")
    .flatMap(({ env }) => givenValue(env, sources)?.text ?? []);
  const files = single.filter((path) => path !== "-");
  const stdin = whole === "-" || files.length < single.length;
  return { folders, files: await Promise.all(files.map(follow)), stdin };
}

/**
 * Returns why an action must not use a file that its input names, or undefined if it may. The author of the input may not be
 * allowed to see the connection, so no input may make the action read it.
 */
export async function placeProblem(
  path: string,
  { folders, files, stdin }: ConnectionPlaces,
): Promise<string | undefined> {
  if (path === "-") return undefined;
  const place = await follow(path);
  if (
    (stdin && (await isStdin(path))) ||
    files.includes(place) ||
    folders.some((folder) => isWithin(place, folder))
  ) {
    return "belongs to the connection: name a file in another folder";
  }
  const system = SYSTEM_FOLDERS.find((folder) => isWithin(place, folder));
  return system && `is in ${system}, which holds no files for actions`;
}

/** Whether a path such as `/dev/stdin` or `/dev/fd/0` is this process's standard input. */
async function isStdin(path: string): Promise<boolean> {
  try {
    const [own, other] = [fstatSync(0), await stat(path)];
    return own.dev === other.dev && own.ino === other.ino;
  } catch {
    return false;
  }
}

/** Resolves every link in the existing part of a path. A pipe has no path and is returned unchanged. */
async function follow(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch {
    const folder = dirname(path);
    if (folder === path || path.startsWith("/dev/fd/")) return path;
    return join(await follow(folder), basename(path));
  }
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === "/" ? "/" : `${folder}/`);
}
