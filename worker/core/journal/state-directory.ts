import { randomUUID } from "node:crypto";
import { access, chmod, constants, readdir, readFile, realpath, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import { type Clock, systemClock } from "../../../shared/clock.ts";
import type { Logger } from "../../../shared/logger.ts";
import { makeFolder } from "../../../shared/make-folder.ts";
import { textOf } from "../../../shared/text-of.ts";
import { replaceTextFile, SyncedFolder } from "./durable-file.ts";
import { jsonObjectOf } from "./entry-text.ts";
import { CHECK_INTERVAL_MS, LockTaken, StateLock } from "./state-lock.ts";

const STATE_VERSION = 1;
const State = z.object({ version: z.literal(STATE_VERSION), id: z.uuid() });

/** The permission bits of the group and all other users. */
const OTHERS = 0o077;
/** The permission bits of users outside the group. */
const EVERYONE = 0o007;

const OWN_NAMES = /^(?:history\.json.*|journal|lock.*|logs|lost\+found|pbnj-tasks|results|state\.json.*)$/;

/** A state directory that cannot be used; the message is one line that names it. */
export class StateDirectoryProblem extends Error {
  override readonly name = "StateDirectoryProblem";
}

/** The folder for everything that a worker keeps across restarts. Only one worker uses it at a time. */
export type StateDirectory = Awaited<ReturnType<typeof openStateDirectory>>;

/**
 * Opens and locks the directory, and creates it if it is missing. The operating system releases the lock when the process dies.
 * Rejects with a `StateDirectoryProblem`.
 */
export async function openStateDirectory(given: string, clock: Clock = systemClock) {
  let path: string;
  try {
    for (const name of ["journal", "results"]) {
      await makeFolder(join(given, name), 0o700);
      await close(join(given, name));
    }
    if (await holdsNothingElse(given)) await close(given).catch(() => undefined);
    path = await realpath(given);
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (thrown) {
    throw problemOf(`the state directory ${given} cannot be used`, thrown);
  }
  const stateFile = join(path, "state.json");
  let lock: StateLock;
  try {
    lock = await StateLock.acquire(path, (await readIdentity(stateFile)) !== undefined, clock);
  } catch (thrown) {
    throw lockProblemOf(path, thrown);
  }
  try {
    const id = await identity(stateFile);
    return {
      path,
      /** The permanent ID of the directory, which is in the labels of everything that the worker launches. */
      id,
      journal: join(path, "journal"),
      results: join(path, "results"),
      /** Rejects with a `StateDirectoryProblem` if another worker may own the directory. */
      async verify() {
        await lock.verify().catch((thrown: unknown) => Promise.reject(lockProblemOf(path, thrown)));
      },
      /** Rejects with a `StateDirectoryProblem` if nothing can be written. */
      probe: () => probe(path),
      /** Checks the lock until `stop` aborts. Resolves to a problem if another worker takes over the directory. */
      untilLost: (stop: AbortSignal, log: Logger) => untilLost(lock, path, { clock, log }, stop),
      close: () => lock.release(),
    };
  } catch (thrown) {
    await lock.release();
    throw thrown;
  }
}

/**
 * Removes the permissions of other users on an existing folder. If that fails, because a volume belongs to another user, group
 * permissions are enough (`fsGroup` of a Pod). Rejects if all users may still use the folder.
 */
async function close(path: string): Promise<void> {
  const { mode } = await stat(path);
  if ((mode & OTHERS) === 0) return;
  try {
    await chmod(path, 0o700);
  } catch (thrown) {
    if ((mode & EVERYONE) === 0) return;
    const octal = (mode & 0o777).toString(8);
    throw new Error(`${path} is open to every user (mode ${octal}), and its permissions cannot be changed`, {
      cause: thrown,
    });
  }
}

/** Whether the folder has only the worker's files. The operator may have named a shared folder, such as /var/lib. */
async function holdsNothingElse(path: string): Promise<boolean> {
  return (await readdir(path)).every((name) => OWN_NAMES.test(name));
}

/** Room for the journal entry of an action. */
const PROBE_BYTES = 64 * 1_024;

async function probe(path: string): Promise<void> {
  const file = join(path, "state.json.probe");
  try {
    // Blocks are allocated with the sync at the latest.
    await replaceTextFile(file, "x".repeat(PROBE_BYTES), new SyncedFolder(path));
  } catch (thrown) {
    throw problemOf(`the state directory ${path} cannot be written`, thrown);
  } finally {
    await rm(file, { force: true }).catch(() => undefined);
  }
}

async function untilLost(
  lock: StateLock,
  path: string,
  { clock, log }: { readonly clock: Clock; readonly log: Logger },
  stop: AbortSignal,
): Promise<StateDirectoryProblem | undefined> {
  let failing = false;
  while (!stop.aborted) {
    try {
      const state = await lock.verify();
      if (state === "renewed") log.warn({ stateDirectory: path }, "lock file deleted, locked a new one");
      failing = false;
    } catch (thrown) {
      if (thrown instanceof LockTaken) return lockProblemOf(path, thrown);
      const fields = { stateDirectory: path, error: textOf(thrown) };
      if (!failing) log.warn(fields, "lock check failed, retrying");
      failing = true;
    }
    await clock.sleep(CHECK_INTERVAL_MS, stop).catch(() => undefined);
  }
  return undefined;
}

function lockProblemOf(path: string, thrown: unknown): StateDirectoryProblem {
  if (thrown instanceof StateDirectoryProblem) return thrown;
  if (!(thrown instanceof LockTaken))
    return problemOf(`the state directory ${path} cannot be locked`, thrown);
  const text = `another worker uses the state directory ${path}: stop it, or give this one a directory of its own`;
  return new StateDirectoryProblem(text, { cause: thrown });
}

const CHOOSE = "choose another directory with --state-directory";

/** How to fix an error of the system. */
const FIXES: Readonly<Record<string, string>> = {
  EACCES: `. Fix: give it to the user that runs the worker (chown), or ${CHOOSE}`,
  EPERM: `. Fix: give it to the user that runs the worker (chown), or ${CHOOSE}`,
  ENOSPC: `. Fix: free some space on that file system, or ${CHOOSE}`,
  EDQUOT: `. Fix: free some space within that quota, or ${CHOOSE}`,
  EROFS: `. Fix: mount that file system so that it can be written, or ${CHOOSE}`,
  ENOENT: `. Fix: ${CHOOSE}`,
  ENOTDIR: `. Fix: ${CHOOSE}`,
  EEXIST: `. Fix: ${CHOOSE}`,
};

function problemOf(what: string, thrown: unknown): StateDirectoryProblem {
  const code = thrown instanceof Error && "code" in thrown ? String(thrown.code) : "";
  const fix = FIXES[code] ?? "";
  return new StateDirectoryProblem(`${what}: ${textOf(thrown)}${fix}`, { cause: thrown });
}

async function identity(file: string): Promise<string> {
  const known = await readIdentity(file);
  if (known !== undefined) return known;
  const id = randomUUID();
  try {
    const text = `${JSON.stringify({ version: STATE_VERSION, id })}\n`;
    await replaceTextFile(file, text, new SyncedFolder(dirname(file)));
  } catch (thrown) {
    throw problemOf(`${file} cannot be written`, thrown);
  }
  return id;
}

/** The ID in `state.json`; undefined if there is none yet. Rejects with a `StateDirectoryProblem`. */
export async function readIdentity(file: string): Promise<string | undefined> {
  const text = await readFile(file, "utf8").catch((thrown: unknown) => {
    if (thrown instanceof Error && "code" in thrown && thrown.code === "ENOENT") return undefined;
    throw problemOf(`${file} cannot be read`, thrown);
  });
  if (text === undefined) return undefined;
  const parsed = State.safeParse(jsonObjectOf(text));
  if (parsed.success) return parsed.data.id;
  throw new StateDirectoryProblem(
    `${file} is damaged or of another version: without it, the worker starts with a new ID and does not know ` +
      "the containers of the old one as its own",
  );
}
