/** A possible next word. */
export interface Candidate {
  readonly value: string;
  readonly description: string;
}

/** Everything that can come next on a command line. */
export interface Completion {
  readonly candidates: readonly Candidate[];
  /** What the shell adds itself, because it finds and quotes paths better. */
  readonly paths?: "files" | "folders";
}

export const nothing: Completion = { candidates: [] };

/** What completion needs to know about a flag. */
export interface Flag {
  /** The name with its dashes, such as `--mode`. */
  readonly name: string;
  readonly description: string;
  /** Whether a value follows. */
  readonly value: "none" | "optional" | "required";
  /** All possible values, if known. */
  readonly choices: readonly string[];
  /** Whether the flag accepts several choices, separated by commas. */
  readonly list: boolean;
  /** The default choice. */
  readonly fallback?: string;
  readonly paths?: "files" | "folders";
  /** Whether the flag can be repeated. */
  readonly repeatable: boolean;
}
