/** A word that may come next. */
export interface Candidate {
  readonly value: string;
  readonly description: string;
}

/** What may come next on a command line. */
export interface Completion {
  readonly candidates: readonly Candidate[];
  /** What the shell adds by itself, as it knows best how to look for paths and quote them. */
  readonly paths?: "files" | "folders";
}

export const nothing: Completion = { candidates: [] };
