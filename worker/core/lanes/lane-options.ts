import type { Clock } from "../../../shared/clock.ts";
import type { Logger } from "../../../shared/logger.ts";
import type { Action } from "../action/action.ts";
import type { Observers } from "../action/observer.ts";
import type { ActionSource, Waking } from "../ports/source.ts";
import type { ServerPace } from "./server-pace.ts";

export interface LaneOptions {
  readonly agentId: string;
  readonly source: ActionSource;
  /** Runs an action and reports its end. Resolves to false if it was not run: the server then serves it again. */
  readonly execute: (action: Action) => Promise<boolean>;
  /** Pending while the runtime cannot launch anything; undefined if the lane may poll. */
  readonly launchable?: () => Promise<void> | undefined;
  readonly clock: Clock;
  readonly log: Logger;
  /** The longest wait between two polls while the server does not answer. */
  readonly maxBackoffMs: number;
  readonly observer: Pick<Observers, "lane" | "polling" | "poll">;
  readonly waking?: Waking | undefined;
  /** Shared by all lanes of a server. */
  readonly serverPace?: ServerPace;
}
