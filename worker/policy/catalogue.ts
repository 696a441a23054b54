/** What the policy needs to know about this project's actions. */
export interface Catalogue {
  names(): readonly string[];
  /** The variables that are an input of at least one action: a task's environment reaches all of its actions. */
  inputNames(): readonly string[];
  /** The actions that may run a second time. */
  idempotentNames(): readonly string[];
}
