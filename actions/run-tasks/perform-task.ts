import type { BmcClient } from "../../shared/bmc/client.ts";
import type { PowerRequest } from "../../shared/bmc/operations/power.ts";
import type { ActionReport } from "../harness/action.ts";
import type { PowerVerb, Task } from "./task.ts";

export interface PowerTimeouts {
  readonly softTimeoutMs: number;
  /** How long reaching a state may take. */
  readonly timeoutMs: number;
}

/** Performs a task and verifies its effect. Rejects with a `BmcError`. */
export async function performTask(
  task: Task,
  bmc: BmcClient,
  timeouts: PowerTimeouts,
  signal: AbortSignal,
): Promise<ActionReport> {
  switch (task.kind) {
    case "status": {
      const power = await bmc.getPower(signal);
      return { summary: power, before: power, after: power, changed: false };
    }
    case "power":
      return bmc.setPower(powerRequest(task.verb, timeouts), signal);
    case "boot":
      return bmc.setBoot(task.request, signal);
    case "media":
      return task.url === undefined
        ? bmc.ejectMedia(signal)
        : bmc.insertMedia(task.url, signal, { drive: { type: "cd" } });
    default:
      return task satisfies never;
  }
}

/** Translates Rufio's verbs: `off` forces and `soft` asks. The BMC itself does a cycle. A machine that is off is not reset. */
export function powerRequest(verb: PowerVerb, { softTimeoutMs, timeoutMs }: PowerTimeouts): PowerRequest {
  switch (verb) {
    case "on":
      return { verb, timeoutMs };
    case "off":
      return { verb, mode: "hard", softTimeoutMs, timeoutMs };
    case "soft":
    case "soft-then-hard":
      return { verb: "off", mode: verb, softTimeoutMs, timeoutMs };
    case "cycle":
      return { verb, offDurationMs: 0, timeoutMs };
    case "reset":
      return { verb, onIfOff: false, timeoutMs };
    default:
      return verb satisfies never;
  }
}
