import type { Action, ActionId, Outcome } from "./action.ts";

/** What runs if an action of the deprecated API fails: the same image with other arguments. */
export interface Hook {
  readonly name: "on-timeout" | "on-failure";
  /** The action with other arguments and another ID. */
  readonly action: Action;
}

export function hooksOf(action: Action): readonly Hook[] {
  const { onTimeout = [], onFailure = [] } = action;
  return [
    ...(onTimeout.length > 0 ? [hookWith("on-timeout", action, onTimeout)] : []),
    ...(onFailure.length > 0 ? [hookWith("on-failure", action, onFailure)] : []),
  ];
}

/**
 * The hook to run after an outcome. As in the worker of tink 0.12, on-failure also runs after a timeout if there is no
 * on-timeout. No hook runs after an action that never started or was cancelled, nor after a refused password, because accounts
 * lock.
 */
export function hookFor(action: Action, outcome: Outcome): Hook | undefined {
  const started = outcome.exitCode !== undefined || outcome.killed || outcome.timedOut;
  if (outcome.ok || !started || outcome.class === "cancelled" || outcome.class === "auth") return undefined;
  const hooks = hooksOf(action);
  const onTimeout = outcome.timedOut ? hooks.find(({ name }) => name === "on-timeout") : undefined;
  return onTimeout ?? hooks.find(({ name }) => name === "on-failure");
}

/** For the status message of the action. */
export function hookReport({ name }: Hook, { ok, message }: Outcome): string {
  return `${name} ${ok ? "succeeded" : "failed"}: ${message}`;
}

/** The hook that has this ID, and its action; undefined for the ID of an action. */
export function hookNamed(
  action: ActionId,
): { readonly name: Hook["name"]; readonly owner: ActionId } | undefined {
  for (const name of ["on-timeout", "on-failure"] as const) {
    if (!action.actionId.endsWith(`/${name}`)) continue;
    return { name, owner: { ...action, actionId: action.actionId.slice(0, -`/${name}`.length) } };
  }
  return undefined;
}

/** The ID of the action to which a hook belongs; an action's own ID stays. */
export function hookedActionId(actionId: string): string {
  return actionId.replace(/\/on-(timeout|failure)$/, "");
}

function hookWith(name: Hook["name"], action: Action, command: readonly string[]): Hook {
  return { name, action: { ...action, actionId: `${action.actionId}/${name}`, command } };
}
