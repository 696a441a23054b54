import { randomUUID } from "node:crypto";
import { access, constants, mkdir, readFile, realpath } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { z } from "zod";
import { replaceTextFile } from "./durable-file.ts";

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
  close(): void;
}

/**
 * Opens the directory for this process alone, and makes it when it is not there. The operating system gives it
 * free when the process dies, however that happens. Rejects with a `StateDirectoryProblem`.
 */
export async function openStateDirectory(given: string): Promise<StateDirectory> {
  let path: string;
  try {
    await mkdir(join(given, "journal"), { recursive: true, mode: 0o700 });
    await mkdir(join(given, "results"), { recursive: true, mode: 0o700 });
    path = await realpath(given);
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (thrown) {
    throw new StateDirectoryProblem(`the state directory ${given} cannot be used: ${reasonOf(thrown)}`);
  }
  const release = lock(join(path, "lock"), path);
  try {
    const id = await identity(join(path, "state.json"));
    return { path, id, journal: join(path, "journal"), results: join(path, "results"), close: release };
  } catch (thrown) {
    release();
    throw thrown;
  }
}

/**
 * Node has no `flock`. SQLite's exclusive lock is one of the operating system's (fcntl), which no crash leaves
 * behind and which holds between containers that share the directory.
 */
function lock(file: string, path: string): () => void {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(file, { timeout: 0 });
    database.exec("PRAGMA journal_mode = MEMORY; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE");
    const held = database;
    return () => held.close();
  } catch (thrown) {
    database?.close();
    const taken = /database is locked/.test(reasonOf(thrown));
    throw new StateDirectoryProblem(
      taken
        ? `another worker uses the state directory ${path}: stop it, or give this one a directory of its own`
        : `the state directory ${path} cannot be locked: ${reasonOf(thrown)}`,
    );
  }
}

async function identity(file: string): Promise<string> {
  const known = await readIdentity(file);
  if (known !== undefined) return known;
  const id = randomUUID();
  try {
    await replaceTextFile(file, `${JSON.stringify({ version: STATE_VERSION, id })}\n`, true);
  } catch (thrown) {
    throw new StateDirectoryProblem(`${file} cannot be written: ${reasonOf(thrown)}`);
  }
  return id;
}

/** The ID that a directory's `state.json` holds; undefined when there is none yet. Rejects with a `StateDirectoryProblem`. */
export async function readIdentity(file: string): Promise<string | undefined> {
  const text = await readFile(file, "utf8").catch((thrown: unknown) => {
    if (thrown instanceof Error && "code" in thrown && thrown.code === "ENOENT") return undefined;
    throw new StateDirectoryProblem(`${file} cannot be read: ${reasonOf(thrown)}`);
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
  return thrown instanceof Error ? thrown.message : String(thrown);
}
