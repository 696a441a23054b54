import { randomUUID } from "node:crypto";
import { access, constants, open, readdir, rm, stat, statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { runProgram } from "../../shared/child-process/run-program.ts";
import { textOf } from "../../shared/text-of.ts";
import { readIdentity, StateDirectoryProblem } from "../core/journal/state-directory.ts";
import { type Finding, findingOf, okFinding, skippedFinding } from "../findings/finding.ts";
import { currentUser } from "./user.ts";

/** Network file systems in statfs(2): NFS, three versions of SMB, and Ceph. */
const NETWORK_FILE_SYSTEMS = new Set([0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x00c36400]);

/** A program for a second process that tries to acquire the lock: exits 0 if it succeeds, 3 if it is locked. */
const SECOND = `
const { DatabaseSync } = require("node:sqlite");
try {
  new DatabaseSync(process.argv[1], { timeout: 0 }).exec("BEGIN EXCLUSIVE");
} catch (thrown) {
  process.exit(/database is locked/.test(thrown.message) ? 3 : 4);
}`;
const SECOND_IS_LOCKED_OUT = 3;
const SECOND_TIMEOUT_MS = 30_000;

/** Whether a worker can use the directory, or uses it now. Leaves nothing behind. */
export async function checkStateDirectory(
  path: string,
  signal: AbortSignal,
  second: string = SECOND,
): Promise<readonly Finding[]> {
  const kind = await kindOf(path);
  if (kind === "absent") return [await missingDirectory(path)];
  if (kind === "other") return [findingOf("state-not-a-directory", `${path} is not a directory`)];
  const denied = (await denialOf(path, path)) ?? (await denialInside(path));
  if (denied) return [denied];
  const identity = await identityOf(path);
  if (identity) return [identity];
  const lock = await lockOf(path, signal, second);
  if (lock.state === "problem" || !(await isOnNetwork(path))) return [lock];
  return [lock, findingOf("state-on-network", `${path} is on a network file system`)];
}

async function kindOf(path: string): Promise<"directory" | "other" | "absent"> {
  try {
    return (await stat(path)).isDirectory() ? "directory" : "other";
  } catch (thrown) {
    return codeOf(thrown) === "ENOTDIR" ? "other" : "absent";
  }
}

/** The first start creates the directory in its nearest existing parent. */
async function missingDirectory(path: string): Promise<Finding> {
  let folder = dirname(path);
  while ((await kindOf(folder)) === "absent" && folder !== dirname(folder)) folder = dirname(folder);
  const denied = await denialOf(folder, path);
  return denied ?? okFinding("state-directory", `${path} does not exist yet: the first start creates it`);
}

const FULL = new Set(["ENOSPC", "EDQUOT"]);

/** Tries to create a file in a folder. Resolves to the reason why this user cannot; undefined on success. */
async function denialOf(folder: string, path: string): Promise<Finding | undefined> {
  const file = join(folder, `doctor-${randomUUID()}`);
  try {
    await readdir(folder);
    await (await open(file, "wx", 0o600)).close();
    return undefined;
  } catch (thrown) {
    return notUsable(path, folder, codeOf(thrown));
  } finally {
    // Removing the file fails again in a folder without permissions.
    await rm(file, { force: true }).catch(() => undefined);
  }
}

/** Why this user cannot use the files of an earlier worker, which may belong to another user; undefined if it can. */
async function denialInside(path: string): Promise<Finding | undefined> {
  const needed = [
    ["lock", constants.R_OK | constants.W_OK],
    ["state.json", constants.R_OK | constants.W_OK],
    ["journal", constants.R_OK | constants.W_OK | constants.X_OK],
    ["results", constants.R_OK | constants.W_OK | constants.X_OK],
  ] as const;
  for (const [name, rights] of needed) {
    try {
      await access(join(path, name), rights);
    } catch (thrown) {
      if (codeOf(thrown) !== "ENOENT") return notUsable(path, join(path, name), codeOf(thrown));
    }
  }
  return undefined;
}

function notUsable(path: string, place: string, code: string): Finding {
  const user = currentUser();
  if (FULL.has(code)) return findingOf("disk-full", `${place}: no space is left`);
  const words =
    code === "EROFS" ? "is on a read-only file system" : `may not be read and written by the user ${user}`;
  const detail = place === path ? `${path} ${words}` : `${path} cannot be used: ${place} ${words}`;
  return findingOf("state-not-usable", detail, { facts: { user, path } });
}

async function identityOf(path: string): Promise<Finding | undefined> {
  const file = join(path, "state.json");
  try {
    await readIdentity(file);
    return undefined;
  } catch (thrown) {
    if (!(thrown instanceof StateDirectoryProblem)) throw thrown;
    return findingOf("state-damaged", thrown.message, { facts: { file } });
  }
}

async function lockOf(path: string, signal: AbortSignal, second: string): Promise<Finding> {
  if (isTaken(join(path, "lock"))) {
    return okFinding("state-directory", `${path} is in use by a running worker`);
  }
  return tryLocks(path, signal, second);
}

/**
 * Whether a worker uses the directory. It only reads, because even a short lock could make a worker that is starting believe
 * that another one is running.
 */
function isTaken(file: string): boolean {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(file, { readOnly: true, timeout: 0 });
    database.exec("SELECT count(*) FROM sqlite_schema");
    return false;
  } catch (thrown) {
    // Without a file there is no worker. `tryLocks` reports other errors.
    return isLocked(thrown);
  } finally {
    database?.close();
  }
}

/** Locks a file there and lets a second process try to acquire the same lock. */
async function tryLocks(path: string, signal: AbortSignal, program: string): Promise<Finding> {
  const file = join(path, `doctor-${randomUUID()}`);
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(file, { timeout: 0 });
    database.exec("PRAGMA journal_mode = MEMORY; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE");
    const { exit } = await runProgram(
      {
        program: process.execPath,
        argv: ["-e", program, file],
        environment: process.env,
        timeoutMs: SECOND_TIMEOUT_MS,
      },
      signal,
    );
    if (exit?.exitCode === SECOND_IS_LOCKED_OUT) {
      return okFinding("state-directory", `${path} can be written and locked; no worker uses it now`);
    }
    if (exit?.exitCode === 0) {
      return findingOf("locks-do-not-hold", `${path}: a second process acquired a lock that was held`);
    }
    return skippedFinding(
      "state-directory",
      `${path} can be written; a second process to try the lock failed`,
    );
  } catch (thrown) {
    signal.throwIfAborted();
    const reason = textOf(thrown);
    return findingOf("locks-fail", `${path} cannot be locked: ${reason}`);
  } finally {
    database?.close();
    await rm(file, { force: true });
  }
}

async function isOnNetwork(path: string): Promise<boolean> {
  const { type } = await statfs(path);
  return NETWORK_FILE_SYSTEMS.has(type);
}

function isLocked(thrown: unknown): boolean {
  return thrown instanceof Error && /database is locked/.test(thrown.message);
}

function codeOf(thrown: unknown): string {
  return thrown instanceof Error && "code" in thrown ? String(thrown.code) : "";
}
