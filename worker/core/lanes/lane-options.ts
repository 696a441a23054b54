import type { Clock } from "../../../shared/clock.ts";
import type { Logger } from "../../../shared/logger.ts";
import type { Action } from "../action/action.ts";
import type { Observers } from "../action/observer.ts";
import type { ActionSource, Waking } from "../ports/source.ts";
import type { ServerLoad } from "./server-load.ts";

export interface LaneOptions {
  readonly agentId: string;
  readonly source: ActionSource;
  /** Runs an action and reports its end. Resolves to false if the action was not run; the server then serves it again. */
  readonly execute: (action: Action) => Promise<boolean>;
  /** Returns a promise while the runtime cannot launch anything; undefined if the lane may poll. */
  readonly launchable?: () => Promise<void> | undefined;
  readonly clock: Clock;
  readonly log: Logger;
  /** The longest pause between two polls while the server does not answer. */
  readonly maxBackoffMs: number;
  readonly observer: Observers;
  readonly waking?: Waking | undefined;
  /** Shared by all lanes of a server. */
  readonly serverLoad?: ServerLoad;
}
