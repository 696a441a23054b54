import * as z from "zod/mini";
import type { ActionResult } from "../../../shared/contract/result.ts";
import { PowerState } from "../../../shared/contract/vocabulary.ts";

const PowerData = z.object({ power: PowerState });
/** The result of run-tasks. The `after` of a task may be a power state or something else. */
const TasksData = z.object({ tasks: z.array(z.object({ after: z.optional(z.unknown()) })) });

/** The power state that an action read last; undefined if it read none. */
export function powerSeen({ after, data }: ActionResult): PowerState | undefined {
  const read = PowerState.safeParse(after);
  if (read.success) return read.data;
  const tasks = TasksData.safeParse(data);
  if (tasks.success) {
    const states = tasks.data.tasks.flatMap((task) => PowerState.safeParse(task.after).data ?? []);
    return states.at(-1);
  }
  return PowerData.safeParse(data).data?.power;
}
