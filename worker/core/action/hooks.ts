import type { Action, ActionId, Outcome } from "./action.ts";

const HOOK_NAMES = ["on-timeout", "on-failure"] as const;

/** A follow-up to a failed action of the deprecated API: the same image with other arguments. */
export interface Hook {
  readonly name: (typeof HOOK_NAMES)[number];
  /** The action with the hook's arguments and ID. */
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

/** Returns the hook with this ID and its action; undefined if the ID belongs to an action. */
export function hookNamed(
  action: ActionId,
): { readonly name: Hook["name"]; readonly owner: ActionId } | undefined {
  const name = HOOK_NAMES.find((each) => action.actionId.endsWith(`/${each}`));
  return name && { name, owner: { ...action, actionId: hookedActionId(action.actionId) } };
}

/** The ID of the action that a hook belongs to. Returns an action's own ID unchanged. */
export function hookedActionId(actionId: string): string {
  return actionId.replace(/\/on-(timeout|failure)$/, "");
}
