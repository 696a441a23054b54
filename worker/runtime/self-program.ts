import type { ActionLibrary } from "./action-library.ts";

/** The program that this worker is a part of: it runs every action as well, as `<file> action <name>`. */
export interface SelfProgram {
  /** Ready for `process.execPath`. */
  readonly file: string;
  /** The names of its actions. */
  readonly actions: readonly string[];
  /** The same, for running them inside this process and for what is known of them. */
  readonly library: ActionLibrary;
  /** Where Node keeps what it compiled between runs. */
  readonly compileCacheDirectory?: string;
}
