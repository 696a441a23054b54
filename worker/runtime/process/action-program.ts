import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { ActionLibrary } from "../action-library.ts";

/** The folder that all actions share; its `action.ts` is not an action. */
const HARNESS = "harness";

/** One of this project's actions as a program for `process.execPath`. */
export interface ActionProgram {
  readonly file: string;
  /** Arguments before the action's own. */
  readonly leadingArguments: readonly string[];
  /** Whether running it twice leaves the machine as after the first run; false if unknown. */
  isIdempotent(): Promise<boolean>;
}

/** The actions that can run as processes. */
export interface ActionPrograms {
  /** The action of that name, if there is one. */
  find(name: string): Promise<ActionProgram | undefined>;
  /** Sorted. */
  names(): Promise<readonly string[]>;
}

/** The actions that are part of this worker's program: `<file> action <name>`. */
export class OwnActions implements ActionPrograms {
  readonly #file: string;
  readonly #library: ActionLibrary;
  readonly #names: readonly string[];

  constructor(file: string, library: ActionLibrary) {
    this.#file = file;
    this.#library = library;
    this.#names = library.names().toSorted();
  }

  async find(name: string): Promise<ActionProgram | undefined> {
    if (!this.#names.includes(name)) return undefined;
    return {
      file: this.#file,
      leadingArguments: ["action", name],
      isIdempotent: async () => (await this.#library.find(name))?.idempotent ?? false,
    };
  }

  async names(): Promise<readonly string[]> {
    return this.#names;
  }
}

/**
 * The actions in a directory: either the sources (`main.ts`, and a folder with `action.ts` per action), or bundles (a
 * folder with `action.mjs` per action).
 */
export class ActionFolder implements ActionPrograms {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  async find(name: string): Promise<ActionProgram | undefined> {
    return (await this.#all()).get(name);
  }

  async names(): Promise<readonly string[]> {
    return [...(await this.#all()).keys()].sort();
  }

  async #all(): Promise<ReadonlyMap<string, ActionProgram>> {
    const entries = await readdir(this.#directory, { withFileTypes: true });
    const main = join(this.#directory, "main.ts");
    const fromSource = entries.some((entry) => entry.isFile() && entry.name === "main.ts");
    const found = new Map<string, ActionProgram>();
    for (const entry of entries) {
      if (!entry.isDirectory() || entry.name === HARNESS) continue;
      const folder = join(this.#directory, entry.name);
      const files = await readdir(folder);
      if (fromSource && files.includes("action.ts")) {
        found.set(entry.name, { file: main, leadingArguments: [entry.name], isIdempotent: notKnown });
      } else if (!fromSource && files.includes("action.mjs")) {
        found.set(entry.name, {
          file: join(folder, "action.mjs"),
          leadingArguments: [],
          isIdempotent: notKnown,
        });
      }
    }
    return found;
  }
}

async function notKnown(): Promise<boolean> {
  return false;
}
