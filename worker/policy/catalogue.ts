/** This project's actions, for the policy. */
export interface Catalogue {
  names(): readonly string[];
  /** The variables that at least one action has as an input: a task's environment reaches all of its actions. */
  inputNames(): readonly string[];
  /** The actions that may run a second time. */
  idempotentNames(): readonly string[];
}
