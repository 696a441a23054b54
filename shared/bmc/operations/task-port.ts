/** Background work that a write started, such as a task or a job. Only the provider that returned it can read it. */
export interface StartedTask {
  /** The path of the task, for people. */
  readonly name: string;
}

/** A reading of a BMC's task or job. */
export interface OperationTask {
  /**
   * `staged`: the task waits for the machine's next boot. `gone`: the BMC does not know it any more, for example after a
   * restart. `unknown`: the BMC's word means neither success nor failure, and the task does not go on.
   */
  readonly state: "running" | "done" | "gone" | "staged" | "failed" | "unknown";
  /** The BMC's word for the state, such as `Exception`. */
  readonly word?: string;
  readonly percent?: number;
  /** The last message of the BMC. */
  readonly message?: string;
  /** How long the BMC asks to wait before the next read. */
  readonly retryAfterMs?: number;
  /** True if no read has found the task so far: the BMC may still be creating it. */
  readonly isMissing?: true;
}
