import type { BootRequest } from "../../shared/bmc/operations/boot-port.ts";
import { describeRequest } from "../../shared/bmc/operations/boot-port.ts";

/** The values of `powerAction`: Rufio's verbs, of which `status` only reads, and one of this project. */
export const POWER_ACTIONS = ["on", "off", "soft", "soft-then-hard", "cycle", "reset", "status"] as const;

export type PowerVerb = Exclude<(typeof POWER_ACTIONS)[number], "status">;

export type Task =
  | { readonly kind: "status" }
  | { readonly kind: "power"; readonly verb: PowerVerb }
  | { readonly kind: "boot"; readonly request: BootRequest }
  /** Ejects the medium if there is no URL. */
  | { readonly kind: "media"; readonly url: string | undefined };

/** Names a task for display: `off`, `boot pxe once (uefi)`, `insert http://...`. */
export function nameOf(task: Task): string {
  switch (task.kind) {
    case "status":
      return "status";
    case "power":
      return task.verb;
    case "boot":
      return `boot ${describeRequest(task.request)}`;
    case "media":
      return task.url === undefined ? "eject" : `insert ${task.url}`;
    default:
      return task satisfies never;
  }
}
