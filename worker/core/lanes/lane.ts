import { alwaysAwake } from "../ports/source.ts";
import type { LaneOptions } from "./lane-options.ts";
import { PollFailures } from "./poll-failures.ts";
import { PollSchedule } from "./poll-schedule.ts";
import { WorkflowsInFlight } from "./workflows-in-flight.ts";

/**
 * Runs the loop of one agent ID: poll for an action, run it, report it. Actions of different workflows run concurrently if
 * the server serves several workflows at a time. Ends when `stop` aborts and the actions in flight have ended, but never
 * because of a lost connection.
 */
export async function runLane(options: LaneOptions, stop: AbortSignal): Promise<void> {
  const { agentId, source, observer, waking = alwaysAwake } = options;
  const pacing = new PollSchedule(options);
  const failures = new PollFailures(options);
  const workflows = new WorkflowsInFlight(options);
  while (!stop.aborted) {
    try {
      const why = await pacing.next(workflows.size > 0 || failures.mustPoll, stop);
      await options.launchable?.();
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
        const served = workflows.serve(poll.action, stop);
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
