import { randomUUID } from "node:crypto";
import { access, constants, mkdir, readFile, realpath } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { type Clock, systemClock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import { textOf } from "../../shared/text-of.ts";
import { replaceTextFile } from "./durable-file.ts";
import { CHECK_INTERVAL_MS, LockTaken, StateLock } from "./state-lock.ts";

const STATE_VERSION = 1;
const State = z.object({ version: z.literal(STATE_VERSION), id: z.uuid() });

/** A state directory that cannot be used; the message is one line that names it. */
export class StateDirectoryProblem extends Error {
  override readonly name = "StateDirectoryProblem";
}

/** The one folder in which a worker keeps what must survive it, and no second worker may. */
export interface StateDirectory {
  readonly path: string;
  /** The same for as long as the directory lives; on labels of what the worker launches. */
  readonly id: string;
  readonly journal: string;
  readonly results: string;
  /** Rejects with a `StateDirectoryProblem` unless no other worker can have it. */
  verify(): Promise<void>;
  /**
   * Looks again and again, until `stop` aborts, whether the directory is still this process's: resolves to the problem when
   * another worker has it.
   */
  untilLost(stop: AbortSignal, log: Logger): Promise<StateDirectoryProblem | undefined>;
  close(): Promise<void>;
}

/**
 * Opens the directory for this process alone, and makes it when it is not there. The operating system gives it
 * free when the process dies, however that happens. Rejects with a `StateDirectoryProblem`.
 */
export async function openStateDirectory(given: string, clock: Clock = systemClock): Promise<StateDirectory> {
  let path: string;
  try {
    for (const name of ["journal", "results"]) await makeFolder(join(given, name));
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
      ...{ path, id, journal: join(path, "journal"), results: join(path, "results") },
      verify: async () => {
        await lock.verify().catch((thrown: unknown) => {
          throw lockProblemOf(path, thrown);
        });
      },
      untilLost: (stop, log) => untilLost(lock, path, { clock, log }, stop),
      close: () => lock.release(),
    };
  } catch (thrown) {
    await lock.release();
    throw thrown;
  }
}

/** Not recursive at once: on a read-only disk Node then reports ENOENT. */
async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path, 0o700);
  } catch (thrown) {
    const code = thrown instanceof Error && "code" in thrown ? thrown.code : undefined;
    if (code === "ENOENT") await mkdir(path, { recursive: true, mode: 0o700 });
    else if (code !== "EEXIST") throw thrown;
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
      if (!failing)
        log.warn({ stateDirectory: path, error: reasonOf(thrown) }, "lock check failed, retrying");
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

function problemOf(what: string, thrown: unknown): StateDirectoryProblem {
  return new StateDirectoryProblem(`${what}: ${reasonOf(thrown)}`, { cause: thrown });
}

async function identity(file: string): Promise<string> {
  const known = await readIdentity(file);
  if (known !== undefined) return known;
  const id = randomUUID();
  try {
    await replaceTextFile(file, `${JSON.stringify({ version: STATE_VERSION, id })}\n`, true);
  } catch (thrown) {
    throw problemOf(`${file} cannot be written`, thrown);
  }
  return id;
}

/** The ID that a directory's `state.json` holds; undefined when there is none yet. Rejects with a `StateDirectoryProblem`. */
export async function readIdentity(file: string): Promise<string | undefined> {
  const text = await readFile(file, "utf8").catch((thrown: unknown) => {
    if (thrown instanceof Error && "code" in thrown && thrown.code === "ENOENT") return undefined;
    throw problemOf(`${file} cannot be read`, thrown);
  });
  if (text === undefined) return undefined;
  const parsed = State.safeParse(jsonOf(text));
  if (parsed.success) return parsed.data.id;
  throw new StateDirectoryProblem(
    `${file} is damaged or of another version: without it, the worker starts with a new ID and does not know ` +
      "the containers of the old one as its own",
  );
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function reasonOf(thrown: unknown): string {
  return textOf(thrown);
}
