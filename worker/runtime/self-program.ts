import type { ActionLibrary } from "./action-library.ts";

/** The program that contains this worker. It also runs every action, as `<file> action <name>`. */
export interface SelfProgram {
  /** Ready for `process.execPath`. */
  readonly file: string;
  /** The names of its actions. */
  readonly actions: readonly string[];
  /** Runs actions inside this process, and describes them. */
  readonly library: ActionLibrary;
  /** Node's compile cache. */
  readonly compileCacheDirectory?: string;
}
