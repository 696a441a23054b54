import { type Backoff, backoffMs } from "../shared/backoff.ts";
import type { Clock } from "../shared/clock.ts";
import type { Logger } from "../shared/logger.ts";
import type { Action } from "./action.ts";
import type { ActionSource } from "./transport/transport.ts";

export interface LaneOptions {
  readonly agentId: string;
  readonly source: ActionSource;
  /** Runs an action and reports its end. Never rejects. */
  readonly execute: (action: Action) => Promise<void>;
  readonly clock: Clock;
  readonly log: Logger;
  /** The longest wait between two polls while the server does not answer. */
  readonly maxBackoffMs: number;
}

/** A server that holds polls is asked again at once; one that answers at once is not asked all the time. */
const IDLE_PAUSE: Backoff = { firstMs: 250, maxMs: 5_000, jitter: 0.5 };
/** An idle answer that took this long was held by the server. */
const HELD_MS = 2_000;

/**
 * One agent ID's loop: wait for an action, run it, report it. Where the server serves several workflows to one agent ID, the
 * actions of different ones run beside each other. Ends when `stop` aborts, after the actions under way; a lost
 * connection never ends it.
 */
export async function runLane(options: LaneOptions, stop: AbortSignal): Promise<void> {
  const { agentId, source, execute, clock, log } = options;
  const failing: Backoff = { firstMs: 500, maxMs: options.maxBackoffMs, jitter: 0.5 };
  /** By workflow; they never reject. */
  const atHand = new Map<string, Promise<void>>();
  const stumbled = (thrown: unknown) => {
    const error = thrown instanceof Error ? thrown.message : String(thrown);
    log.error({ agentId, error }, "lane stumbled, goes on");
  };
  let failures = 0;
  let quickIdles = 0;
  while (!stop.aborted) {
    try {
      const askedMs = clock.monotonicMs();
      const poll = await source.next(agentId, stop, atHand);
      if (poll.kind === "failed") {
        failures += 1;
        const waitMs = backoffMs(failing, failures);
        // An outage is said once; what follows is only its repetition.
        const say = failures === 1 ? log.warn : log.debug;
        say.call(log, { agentId, code: poll.code, reason: poll.reason, waitMs }, "poll failed, will retry");
        await clock.sleep(waitMs, stop);
        continue;
      }
      if (failures > 0) log.info({ agentId, failures }, "tink server answers again");
      failures = 0;
      if (poll.kind === "action") {
        quickIdles = 0;
        const { workflowId } = poll.action;
        const running = execute(poll.action);
        if (source.servesSeveral()) {
          atHand.set(
            workflowId,
            running.catch(stumbled).finally(() => atHand.delete(workflowId)),
          );
        } else await running;
        continue;
      }
      quickIdles = clock.monotonicMs() - askedMs >= HELD_MS ? 0 : quickIdles + 1;
      // An action that ends makes the next one of its workflow ready.
      if (quickIdles > 0) {
        await Promise.race([clock.sleep(backoffMs(IDLE_PAUSE, quickIdles), stop), ...atHand.values()]);
      }
    } catch (thrown) {
      if (stop.aborted) break;
      failures += 1;
      stumbled(thrown);
      await clock.sleep(backoffMs(failing, failures), stop).catch(() => undefined);
    }
  }
  await Promise.all(atHand.values());
}
