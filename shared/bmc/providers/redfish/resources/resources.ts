import type { PowerState } from "../../../../contract/vocabulary.ts";
import type { Logger } from "../../../../logger.ts";
import type { ManagedManager } from "./managed-manager.ts";
import type { Members } from "./members.ts";
import type { ManagedSystem } from "./system.ts";
import type { Tasks } from "./task.ts";
import type { Writer } from "./writer.ts";

/** The objects that the drivers of one session share. */
export interface Resources {
  readonly system: ManagedSystem;
  readonly manager: ManagedManager;
  readonly members: Members;
  readonly tasks: Tasks;
  readonly writer: Writer;
  readonly log: Logger;
}

/** Reads the power state. Only two states are settled; `PoweringOn`, `PoweringOff`, `Paused` and all others are not. */
export function powerState(text: string | undefined): PowerState {
  if (text === "On") return "on";
  if (text === "Off") return "off";
  return "unknown";
}
