import { LONGEST_TIMER_MS } from "../../shared/deadline.ts";
import { excessOf } from "../../shared/input-limits.ts";
import { shortened } from "../../shared/printable.ts";
import type { Action, ImageAction, ReturningIds } from "../core/action/action.ts";

/** An answer that is not a valid action; the message says why. */
export class MalformedAction extends Error {
  override readonly name = "MalformedAction";
}

interface Known extends ImageAction {
  readonly returningIds?: ReturningIds | undefined;
}

/**
 * Builds an action from the result of `read`. If `read` throws `MalformedAction`, the action is unreadable and has the
 * reason.
 */
export function readableAction(known: Known, read: () => Omit<Action, keyof Known>): Action {
  const nothing = { timeoutMs: 0, command: [], volumes: [], environment: {} };
  const unreadable = (reason: string) => ({
    ...known,
    ...nothing,
    image: shortened(known.image, LONGEST_ID),
    unreadable: reason,
  });
  try {
    const action = read();
    const excess = excessOf({ image: known.image, ...action }, "action");
    return excess === undefined ? { ...known, ...action } : unreadable(`the action ${excess}`);
  } catch (thrown) {
    if (!(thrown instanceof MalformedAction)) throw thrown;
    return unreadable(thrown.message);
  }
}

/** The IDs and names of tink-server have fewer than 600 characters: a namespace, a name and UUIDs. */
const LONGEST_ID = 1_024;

export function required(field: string, value: string): string {
  if (value.length > LONGEST_ID) {
    throw new MalformedAction(`the action's ${field} has more than ${LONGEST_ID} characters`);
  }
  if (value === "") throw new MalformedAction(`the action has no ${field}`);
  return value;
}

export function timeoutMsOf(seconds: bigint): number {
  if (seconds < 0n) throw new MalformedAction(`the action's timeout is negative: ${seconds} s`);
  return Math.min(Number(seconds) * 1_000, LONGEST_TIMER_MS);
}

export function environmentOf(entries: readonly string[]): Record<string, string> {
  const pairs = entries.map((entry) => {
    const equals = entry.indexOf("=");
    // The message does not quote the entry, which may be a secret.
    if (equals < 1) throw new MalformedAction("an environment entry of the action is not KEY=value");
    return [entry.slice(0, equals), entry.slice(equals + 1)] as const;
  });
  return Object.fromEntries(pairs);
}
