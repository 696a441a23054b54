/** What a write started in the background, such as a task or a job. Only the provider that returned it can read it. */
export interface StartedTask {
  /** For people: its path. */
  readonly name: string;
}

/** A BMC's task or job as it was read. */
export interface OperationTask {
  /**
   * `staged`: it waits for the machine's next boot. `gone`: the BMC does not know it any more, as after a restart. `unknown`: what
   * it says is neither success nor failure, and it does not go on.
   */
  readonly state: "running" | "done" | "gone" | "staged" | "failed" | "unknown";
  /** The BMC's word for the state, such as `Exception`. */
  readonly word?: string;
  readonly percent?: number;
  /** The BMC's last words. */
  readonly message?: string;
  /** How long the BMC asked to wait before the next look. */
  readonly retryAfterMs?: number;
  /** No look has shown it so far: the BMC may still be making it. */
  readonly isMissing?: true;
}
