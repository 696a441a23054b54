import type { BmcClient } from "../../shared/bmc/client.ts";
import { UNREAD_OVERRIDE } from "../../shared/bmc/operations/boot.ts";
import type { BootOverride } from "../../shared/bmc/operations/boot-port.ts";
import { describeOverride } from "../../shared/bmc/operations/boot-port.ts";
import type { MediaState } from "../../shared/bmc/operations/media.ts";
import { describeMedia } from "../../shared/bmc/operations/media.ts";
import type { PowerState } from "../../shared/contract/vocabulary.ts";
import { type PowerTimeouts, powerRequest } from "./perform-task.ts";
import type { Task } from "./task.ts";

/** The assumed state of a machine. Fields that are absent are as they are now. */
export interface Assumed {
  readonly power?: PowerState;
  readonly boot?: BootOverride;
  readonly media?: MediaState;
}

export interface TaskPlan {
  readonly steps: readonly string[];
  /** The present state that the task would find; empty if the state is assumed or cannot be read. */
  readonly now: string;
}

/** Plans what a task would send. Does not read a state that is assumed, and changes nothing. */
export async function planTask(
  task: Task,
  bmc: BmcClient,
  timeouts: PowerTimeouts,
  assumed: Assumed,
  signal: AbortSignal,
): Promise<TaskPlan> {
  switch (task.kind) {
    case "status":
      return { steps: [], now: assumed.power === undefined ? await bmc.getPower(signal) : "" };
    case "power": {
      const { before, steps } = await bmc.planPower(powerRequest(task.verb, timeouts), signal, assumed.power);
      return { steps, now: assumed.power === undefined ? before : "" };
    }
    case "boot": {
      const { before, steps } = await bmc.planBoot(task.request, signal, assumed.boot);
      return { steps, now: assumed.boot === undefined ? `boot ${describeOverride(before)}` : "" };
    }
    case "media": {
      const { before, steps } = await bmc.planMedia(task.url, signal, assumed.media, {
        ...(task.url === undefined ? {} : { drive: { type: "cd" } }),
      });
      return { steps, now: before && assumed.media === undefined ? describeMedia(before) : "" };
    }
    default:
      return task satisfies never;
  }
}

export function afterTask(task: Task, assumed: Assumed): Assumed {
  switch (task.kind) {
    case "status":
      return assumed;
    case "power": {
      const isOff = task.verb === "off" || task.verb === "soft" || task.verb === "soft-then-hard";
      return { ...assumed, power: isOff ? "off" : "on" };
    }
    case "boot":
      return { ...assumed, boot: { device: task.request.device, persistent: task.request.persistent } };
    case "media":
      return { ...assumed, media: mediaWith(task.url) };
    default:
      return task satisfies never;
  }
}

/** Returns the state of a machine on which the task has something to do. */
export function undone(task: Task): Assumed {
  switch (task.kind) {
    case "status":
      return {};
    case "power":
      return { power: task.verb === "on" ? "off" : "on" };
    case "boot":
      return { boot: UNREAD_OVERRIDE };
    case "media":
      return { media: mediaWith(task.url === undefined ? "" : undefined) };
    default:
      return task satisfies never;
  }
}

function mediaWith(url: string | undefined): MediaState {
  return url === undefined ? { inserted: false } : { inserted: true, image: url };
}
