/** What is true of the machine that the attacks run on. */
export interface Setting {
  /** Whether actions run in containers: a container engine answers. Otherwise they are processes. */
  readonly containers: boolean;
  /** How long an attack with rounds lasts; a few rounds when absent. */
  readonly minutes?: number;
}

/** One attack on a running worker. Its name is that of its file. */
export interface Attack {
  /** What it tries. */
  readonly tries: string;
  /** What must hold. */
  readonly holds: string;
  /** Has no meaning without containers: skipped where no engine answers. */
  readonly needsContainers?: true;
  /** Resolves to what did not hold, in one line each. */
  run(setting: Setting): Promise<readonly string[]>;
}

/** The reasons whose condition is false: `unless(held, "why not")`. */
export function unless(held: boolean, reason: string): readonly string[] {
  return held ? [] : [reason];
}
