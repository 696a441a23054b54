import { State, type WorkflowContext } from "./gen/workflow_pb.ts";

/** As much of an action as tells whose it is. */
interface Turn {
  readonly workerId: string;
}

type Where = Pick<
  WorkflowContext,
  "currentAction" | "currentActionIndex" | "currentActionState" | "currentWorker"
>;

/**
 * The index of the action that is `workerId`'s to run now; undefined when it is another worker's turn or nobody's.
 * Before the first action it is that one's worker's turn, after a success that of the next one's, unless it was
 * the last; after a failure or a time-out nobody's; else the current one's.
 */
export function turnOf(
  { currentAction, currentActionIndex, currentActionState }: Where,
  actions: readonly Turn[],
  workerId: string,
): number | undefined {
  const index = indexOf(currentAction, Number(currentActionIndex), currentActionState);
  return index !== undefined && actions[index]?.workerId === workerId ? index : undefined;
}

function indexOf(current: string, index: number, state: State): number | undefined {
  if (current === "") return 0;
  switch (state) {
    case State.SUCCESS:
      return index + 1;
    case State.FAILED:
    case State.TIMEOUT:
      return undefined;
    default:
      return index;
  }
}
