import type { Clock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import type { Action } from "../action/action.ts";
import type { Observer } from "../action/observer.ts";
import { alwaysAwake, type Waking } from "../action/waking.ts";
import type { ActionSource } from "../source/source.ts";
import { PollFailures } from "./poll-failures.ts";
import { PollPacing } from "./poll-pacing.ts";
import { ServerPace } from "./server-pace.ts";
import { WorkflowsInFlight } from "./workflows-in-flight.ts";

export interface LaneOptions {
  readonly agentId: string;
  readonly source: ActionSource;
  /** Runs an action and reports its end. Resolves to false if it was not run: the server then serves it again. */
  readonly execute: (action: Action) => Promise<boolean>;
  readonly clock: Clock;
  readonly log: Logger;
  /** The longest wait between two polls while the server does not answer. */
  readonly maxBackoffMs: number;
  readonly observer: Pick<Observer, "lane" | "polling" | "poll">;
  readonly waking?: Waking | undefined;
  /** Shared by all lanes of a server. */
  readonly serverPace?: ServerPace;
}

/**
 * The loop of one agent ID: poll for an action, run it, report it. Actions of different workflows run concurrently if the
 * server serves an agent ID several workflows at a time. Ends when `stop` aborts, after the actions in flight; never because of
 * a lost connection.
 */
export async function runLane(options: LaneOptions, stop: AbortSignal): Promise<void> {
  const { agentId, source, execute, clock, log, observer, maxBackoffMs } = options;
  const { waking = alwaysAwake, serverPace = new ServerPace(clock) } = options;
  const pacing = new PollPacing({ agentId, source, waking, serverPace, clock, observer });
  const failures = new PollFailures({ agentId, clock, log, observer, maxBackoffMs });
  const workflows = new WorkflowsInFlight({ execute, clock, log });
  while (!stop.aborted) {
    try {
      const why = await pacing.next(workflows.size > 0 || failures.mustPoll, stop);
      if (stop.aborted) break;
      if (!failures.isFailing) observer.lane(agentId, workflows.size > 0 ? "busy" : "polling");
      const poll = await pacing.poll(why, workflows, stop);
      if (poll.kind === "failed") {
        await failures.wait(poll, stop);
        continue;
      }
      failures.end();
      if (poll.kind === "action") {
        waking.served(poll.action, why);
        observer.lane(agentId, "busy");
        const served = workflows.run(poll.action, stop);
        if (!source.servesSeveral()) await served;
      } else {
        workflows.nothingServed();
        if (poll.kind === "idle") await workflows.pause(pacing.idlePauseMs, stop);
      }
    } catch (thrown) {
      if (!stop.aborted) await failures.broken(thrown, stop);
    }
  }
  await workflows.ended();
  observer.lane(agentId, undefined);
}
