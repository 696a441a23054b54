export interface StopSignals {
  /** Start nothing new: an action that still waits for its machine is left to the server. */
  readonly stop: AbortSignal;
  /** Stop what runs. */
  readonly cancel: AbortSignal;
}
