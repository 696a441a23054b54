/** This project's actions, as the policy knows them. */
export interface Catalogue {
  names(): readonly string[];
  /** The variables that are inputs of at least one action: a task's environment reaches all of its actions. */
  inputNames(): readonly string[];
}
