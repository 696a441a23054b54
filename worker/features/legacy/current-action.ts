import { State, type WorkflowContext } from "./gen/workflow_pb.ts";

/** The fields by which an action of a list is compared with a workflow's context. */
interface ListedAction {
  readonly taskName: string;
  readonly name: string;
  readonly workerId: string;
}

type Position = Pick<
  WorkflowContext,
  "currentTask" | "currentAction" | "currentActionIndex" | "currentActionState"
>;

/**
 * The index of the action to run now: the first one before any has run, the next one after a success, none after a failure
 * or a timeout, and otherwise the current one. A completed workflow names no current action and has an index beyond the last
 * one.
 */
export function currentIndexOf({
  currentAction,
  currentActionIndex,
  currentActionState,
}: Position): number | undefined {
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
 * The action that `workerId` must run now, with its index. Undefined if there is none, if it belongs to another worker, or
 * if the list, which is fetched after the context, already belongs to another workflow.
 */
export function currentActionOf<T extends ListedAction>(
  context: Position,
  actions: readonly T[],
  workerId: string,
): { readonly index: number; readonly action: T } | undefined {
  const index = currentIndexOf(context);
  const action = index === undefined ? undefined : actions[index];
  if (index === undefined || action?.workerId !== workerId) return undefined;
  if (context.currentAction === "") return { index, action };
  const current = actions[Number(context.currentActionIndex)];
  const same = current?.name === context.currentAction && current.taskName === context.currentTask;
  return same ? { index, action } : undefined;
}
