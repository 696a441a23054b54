import * as z from "zod/mini";
import { type ActionId, actionKey } from "../../core/action/action.ts";
import { OWN_REBOOT } from "../../kubernetes/client/host-object.ts";
import { isOrphan, type SweepOptions } from "../../runtimes/orphan.ts";

/** The annotation with the key of the last action that rebooted the host, so that no leader repeats the action. */
export const LAST_REBOOT = "pbnj-worker/last-reboot";

/** The annotation with which an action makes Metal3 power a host off. */
export interface RebootAnnotation {
  readonly name: string;
  /** A JSON object: `mode` is for the operator; `owner`, which the operator ignores, identifies the worker. */
  readonly value: string;
  readonly key: string;
}

const Value = z.object({
  owner: z.object({
    state: z.optional(z.string()),
    key: z.string(),
    deadline: z.string(),
  }),
});

export interface RebootOwner {
  /** The ID of the worker's state directory, if it has one. */
  readonly state: string | undefined;
  readonly action: ActionId;
  readonly deadline: Date;
}

export function rebootAnnotation({ state, action, deadline }: RebootOwner): RebootAnnotation {
  const key = actionKey(action);
  const owner = { state, key, deadline: deadline.toISOString() };
  return { name: rebootName(action), key, value: JSON.stringify({ mode: "hard", owner }) };
}

/** The name of an action's reboot annotation, which the next worker can derive as well. */
export function rebootName(action: ActionId): string {
  return `${OWN_REBOOT}${actionKey(action).slice(0, 16)}`;
}

/** The names of the reboot annotations that no worker will remove. */
export function orphanReboots(
  reboots: Readonly<Record<string, string>>,
  options: SweepOptions,
): readonly string[] {
  return Object.entries(reboots).flatMap(([name, text]) => {
    const owner = Value.safeParse(parse(text)).data?.owner;
    return owner && isOrphan(owner, options) ? [name] : [];
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
