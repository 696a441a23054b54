import type { Provider } from "../../shared/bmc/operations/provider.ts";
import type { StopSignal } from "../../shared/contract/exit-code.ts";
import type { GivenText } from "../../shared/contract/given.ts";
import type { ActionResult } from "../../shared/contract/result.ts";
import type { LogLine } from "../core/action/action.ts";

export interface InProcessRequest {
  /** The whole environment, without the worker's own. */
  readonly env: Readonly<Record<string, string>>;
  readonly argv: readonly string[];
  readonly stdin: string;
  /** Replaces the connection's providers. */
  readonly provider?: Provider | undefined;
  readonly onLog: (line: LogLine) => void;
  readonly signal: AbortSignal;
  /** The signal that aborted `signal`. */
  readonly stoppedBy: () => StopSignal;
}

export interface InProcessEnd {
  readonly exitCode: number;
  readonly result: ActionResult;
}

export interface InProcessAction {
  /** Whether running it twice leaves the machine as after the first run. */
  readonly idempotent: boolean;
  /** What is wrong with the variables and flags, as far as it shows without files and a connection. */
  problems(given: GivenText): Promise<readonly string[]>;
  run(request: InProcessRequest): Promise<InProcessEnd>;
}

export interface ActionLibrary {
  names(): readonly string[];
  inputNames(): readonly string[];
  idempotentNames(): readonly string[];
  find(name: string): Promise<InProcessAction | undefined>;
}
