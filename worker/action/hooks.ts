import type { Action, ActionId, Outcome } from "./action.ts";

/** What the deprecated API lets a template say for the case that an action fails: the same image with other arguments. */
export interface Hook {
  readonly name: "on-timeout" | "on-failure";
  /** The action itself, but for its arguments and its ID. */
  readonly action: Action;
}

/** All that an action may come to run. */
export function hooksOf(action: Action): readonly Hook[] {
  const { onTimeout = [], onFailure = [] } = action;
  return [
    ...(onTimeout.length > 0 ? [hookWith("on-timeout", action, onTimeout)] : []),
    ...(onFailure.length > 0 ? [hookWith("on-failure", action, onFailure)] : []),
  ];
}

/**
 * The one that an outcome asks for. As in the worker of tink 0.12, an action that ran out of time and has no on-timeout
 * is a failed one. Nothing is run after an action that never started or was cancelled, nor after one whose password
 * was refused, because accounts lock.
 */
export function hookFor(action: Action, outcome: Outcome): Hook | undefined {
  const started = outcome.exitCode !== undefined || outcome.killed || outcome.timedOut;
  if (outcome.ok || !started || outcome.class === "cancelled" || outcome.class === "auth") return undefined;
  const hooks = hooksOf(action);
  const onTimeout = outcome.timedOut ? hooks.find(({ name }) => name === "on-timeout") : undefined;
  return onTimeout ?? hooks.find(({ name }) => name === "on-failure");
}

/** For the status message of the action: what became of its hook. */
export function hookReport({ name }: Hook, { ok, message }: Outcome): string {
  return `${name} ${ok ? "succeeded" : "failed"}: ${message}`;
}

/** Which hook of which action an ID is that of; undefined for an action's own. */
export function hookNamed(
  action: ActionId,
): { readonly name: Hook["name"]; readonly owner: ActionId } | undefined {
  for (const name of ["on-timeout", "on-failure"] as const) {
    if (!action.actionId.endsWith(`/${name}`)) continue;
    return { name, owner: { ...action, actionId: action.actionId.slice(0, -`/${name}`.length) } };
  }
  return undefined;
}

/** The ID of the action whose hook this one is; its own where it is none. */
export function hookedActionId(actionId: string): string {
  return actionId.replace(/\/on-(timeout|failure)$/, "");
}

function hookWith(name: Hook["name"], action: Action, command: readonly string[]): Hook {
  return { name, action: { ...action, actionId: `${action.actionId}/${name}`, command } };
}
