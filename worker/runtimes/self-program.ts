import type { ActionLibrary } from "./action-library.ts";

/** The program that contains this worker. It also runs every action, as `<file> action <name>`. */
export interface SelfProgram {
  readonly file: string;
  readonly actions: readonly string[];
  /** Runs actions inside this process, and describes them. */
  readonly library: ActionLibrary;
  readonly compileCacheDirectory?: string;
}
