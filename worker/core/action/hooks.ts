import type { Action, ActionId, Outcome } from "./action.ts";

const HOOK_NAMES = ["on-timeout", "on-failure"] as const;

/** What runs if an action of the deprecated API fails: the same image with other arguments. */
export interface Hook {
  readonly name: (typeof HOOK_NAMES)[number];
  /** The action with other arguments and another ID. */
  readonly action: Action;
}

export function hooksOf(action: Action): readonly Hook[] {
  const commands = { "on-timeout": action.onTimeout, "on-failure": action.onFailure };
  return HOOK_NAMES.flatMap((name) => {
    const { [name]: command = [] } = commands;
    return command.length > 0
      ? { name, action: { ...action, actionId: `${action.actionId}/${name}`, command } }
      : [];
  });
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

export function hookReport({ name }: Hook, { ok, message }: Outcome): string {
  return `${name} ${ok ? "succeeded" : "failed"}: ${message}`;
}

/** The hook that has this ID, and its action; undefined for the ID of an action. */
export function hookNamed(
  action: ActionId,
): { readonly name: Hook["name"]; readonly owner: ActionId } | undefined {
  const name = HOOK_NAMES.find((each) => action.actionId.endsWith(`/${each}`));
  return name && { name, owner: { ...action, actionId: hookedActionId(action.actionId) } };
}

/** The ID of the action to which a hook belongs; an action's own ID stays. */
export function hookedActionId(actionId: string): string {
  return actionId.replace(/\/on-(timeout|failure)$/, "");
}
