/** A possible next word. */
export interface Candidate {
  readonly value: string;
  readonly description: string;
}

/** Everything that can come next on a command line. */
export interface Completion {
  readonly candidates: readonly Candidate[];
  /** What the shell adds itself, because it finds and quotes paths best. */
  readonly paths?: "files" | "folders";
}

export const nothing: Completion = { candidates: [] };
