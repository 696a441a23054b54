import type { StopSignal } from "../../shared/contract/exit-code.ts";
import type { ActionResult } from "../../shared/contract/result.ts";
import type { LogLine } from "../action/action.ts";

/** What a process would be given, without the process. */
export interface InProcessRequest {
  /** The whole environment: nothing of the worker's own is seen. */
  readonly env: Readonly<Record<string, string>>;
  readonly argv: readonly string[];
  readonly stdin: string;
  readonly onLog: (line: LogLine) => void;
  readonly signal: AbortSignal;
  /** What the cancelled action says ended it. */
  readonly stoppedBy: StopSignal;
}

/** How it ended, as its process would have told it. */
export interface InProcessEnd {
  readonly exitCode: number;
  readonly result: ActionResult;
}

/** One of this project's own actions, as whoever puts the program together hands it over. */
export interface InProcessAction {
  /** Whether running it a second time leaves the machine as after the first. */
  readonly idempotent: boolean;
  run(request: InProcessRequest): Promise<InProcessEnd>;
}

export interface ActionLibrary {
  names(): readonly string[];
  /** The variables that are inputs of at least one action. */
  inputNames(): readonly string[];
  find(name: string): Promise<InProcessAction | undefined>;
}
