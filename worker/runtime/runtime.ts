import type { Connection } from "../../shared/contract/connection.ts";
import type { Action, Outcome } from "../action.ts";

/** One line of an action's own output; the result line is not among them. */
export interface LogLine {
  readonly stream: "stdout" | "stderr";
  readonly line: string;
}

/** Everything a runtime needs to run one action. The policy has already agreed to it. */
export interface LaunchRequest {
  readonly action: Action;
  /** Written to the action's stdin and nowhere else; absent when the action brings its own. */
  readonly connection?: Connection;
  /** The action's time, already with the default applied. */
  readonly timeoutMs: number;
  /** Called for each line as it comes. */
  readonly onLog: (line: LogLine) => void;
}

/**
 * An action that has ended, still known to the runtime until `remove` is called: that is done once the final
 * report is acknowledged, so that a worker that restarts in between finds it.
 */
export interface EndedAction {
  readonly outcome: Outcome;
  /** Takes away what is left of it. Throws when that failed; may be called again. */
  remove(signal: AbortSignal): Promise<void>;
}

/** What launches actions. */
export interface Runtime {
  readonly name: string;
  /**
   * Runs an action to its end. Never rejects for what the action or the engine did: that is an outcome.
   * When `signal` aborts, the action is stopped (stop, grace, kill) and the outcome is class `cancelled`.
   */
  run(request: LaunchRequest, signal: AbortSignal): Promise<EndedAction>;
  close(): Promise<void>;
}
