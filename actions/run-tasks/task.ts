import type { BootRequest } from "../../shared/bmc/operations/boot-port.ts";
import { describeRequest } from "../../shared/bmc/operations/boot-port.ts";

/** What `powerAction` may be: Rufio's words, of which `status` reads, and one of this project's. */
export const POWER_ACTIONS = ["on", "off", "soft", "soft-then-hard", "cycle", "reset", "status"] as const;

export type PowerVerb = Exclude<(typeof POWER_ACTIONS)[number], "status">;

export type Task =
  | { readonly kind: "status" }
  | { readonly kind: "power"; readonly verb: PowerVerb }
  | { readonly kind: "boot"; readonly request: BootRequest }
  /** Without a URL it ejects. */
  | { readonly kind: "media"; readonly url: string | undefined };

/** For people: `off`, `boot pxe once (uefi)`, `insert http://...`. */
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
