import { State, type WorkflowContext } from "./gen/workflow_pb.ts";

/** As much of an action as tells whose it is, and that it is the one a context speaks of. */
interface Turn {
  readonly taskName: string;
  readonly name: string;
  readonly workerId: string;
}

type Where = Pick<
  WorkflowContext,
  "currentTask" | "currentAction" | "currentActionIndex" | "currentActionState"
>;

/**
 * The index of the action whose turn it is; undefined when it is nobody's. Before the first action it is that one's, after a
 * success the next one's, after a failure or a time-out nobody's; else the current one's. A workflow with all of its
 * actions done names none either, and the index behind the last.
 */
export function turnIndexOf({
  currentAction,
  currentActionIndex,
  currentActionState,
}: Where): number | undefined {
  const index = Number(currentActionIndex);
  if (currentAction === "") return index === 0 ? 0 : undefined;
  switch (currentActionState) {
    case State.SUCCESS:
      return index + 1;
    case State.FAILED:
    case State.TIMEOUT:
      return undefined;
    default:
      return index;
  }
}

/**
 * The action that is `workerId`'s to run now, with its index; undefined when it is another worker's turn or nobody's, or when
 * the list, which is asked for after the context, is that of another workflow by now.
 */
export function turnOf<T extends Turn>(
  context: Where,
  actions: readonly T[],
  workerId: string,
): { readonly index: number; readonly action: T } | undefined {
  const index = turnIndexOf(context);
  const action = index === undefined ? undefined : actions[index];
  if (index === undefined || action?.workerId !== workerId) return undefined;
  if (context.currentAction === "") return { index, action };
  const current = actions[Number(context.currentActionIndex)];
  const same = current?.name === context.currentAction && current.taskName === context.currentTask;
  return same ? { index, action } : undefined;
}
