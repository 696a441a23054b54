import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { fileProblemOf } from "../../../shared/read-text-file.ts";
import type { ActionLibrary } from "../action-library.ts";

/** The folder that all actions share; its `action.ts` is not an action. */
const HARNESS = "harness";

/** One of this project's actions as a program for `process.execPath`. */
export interface ActionProgram {
  readonly file: string;
  readonly leadingArguments: readonly string[];
  /** Whether running it twice leaves the machine in the same state as running it once; false if unknown. */
  isIdempotent(): Promise<boolean>;
}

export interface ActionPrograms {
  find(name: string): Promise<ActionProgram | undefined>;
  /** Sorted. */
  names(): Promise<readonly string[]>;
}

/** The actions that are part of this worker's program: `<file> action <name>`. */
export function ownActions(file: string, library: ActionLibrary): ActionPrograms {
  const names = library.names().toSorted();
  return {
    names: async () => names,
    async find(name) {
      if (!names.includes(name)) return undefined;
      const isIdempotent = async () => (await library.find(name))?.idempotent ?? false;
      return { file, leadingArguments: ["action", name], isIdempotent };
    },
  };
}

/**
 * The actions in a directory: either sources (`main.ts`, and a folder with `action.ts` per action) or bundles (a folder with
 * `action.mjs` per action).
 */
export function actionFolder(directory: string): ActionPrograms {
  return {
    names: async () => [...(await programsIn(directory)).keys()].sort(),
    find: async (name) => (await programsIn(directory)).get(name),
  };
}

async function programsIn(directory: string): Promise<ReadonlyMap<string, ActionProgram>> {
  const entries = await readdir(directory, { withFileTypes: true }).catch((thrown: unknown) => {
    throw new Error(`the folder of actions ${directory} ${fileProblemOf(thrown)}`, { cause: thrown });
  });
  const fromSource = entries.some((entry) => entry.isFile() && entry.name === "main.ts");
  const action = fromSource ? "action.ts" : "action.mjs";
  const found = new Map<string, ActionProgram>();
  for (const { name } of entries.filter((entry) => entry.isDirectory() && entry.name !== HARNESS)) {
    const files = await readdir(join(directory, name));
    if (!files.includes(action)) continue;
    found.set(name, {
      file: fromSource ? join(directory, "main.ts") : join(directory, name, action),
      leadingArguments: fromSource ? [name] : [],
      isIdempotent: async () => false,
    });
  }
  return found;
}
