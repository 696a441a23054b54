import { BmcError } from "../../shared/contract/bmc-error.ts";
import { progressFields } from "../../shared/contract/progress.ts";
import { defined } from "../../shared/defined.ts";
import { type ActionContext, ActionFailure, type ActionReport } from "../harness/action.ts";
import type { InputFields } from "../harness/input/input.ts";
import { type DryRunData, describeSteps } from "../harness/run/dry-run.ts";
import { type PowerTimeouts, performTask } from "./perform-task.ts";
import { type Assumed, afterTask, planTask, undone } from "./plan-task.ts";
import { nameOf, type Task } from "./task.ts";

type TasksContext = Pick<ActionContext<InputFields>, "bmc" | "signal" | "log" | "progress">;

interface DoneTask {
  readonly task: string;
  readonly message: string;
  readonly before?: unknown;
  readonly after?: unknown;
  readonly changed?: boolean;
  readonly durationMs: number;
}

export interface DoneTasks {
  /** The completed tasks in order. After a failure, the tasks before it. */
  readonly tasks: readonly DoneTask[];
}

/**
 * Performs the tasks one after another, provided that none is known to be impossible. Rejects at the first failure, with
 * what was done before it.
 */
export async function runTasks(
  { bmc, signal, log, progress }: TasksContext,
  tasks: readonly Task[],
  timeouts: PowerTimeouts,
): Promise<ActionReport<DoneTasks>> {
  const done: DoneTask[] = [];
  const hasChanged = () => done.some(({ changed }) => changed);
  // Whether the running task has changed anything is unknown.
  const soFar = () => ({ ...defined({ changed: hasChanged() || undefined }), data: { tasks: [...done] } });
  await refuseImpossible({ bmc, signal }, tasks, timeouts);
  for (const [index, task] of tasks.entries()) {
    const place = placeOf(tasks, index, task);
    progress({ ...soFar(), summary: [`${place} under way`, ...describeDone(done)].join("; ") });
    log.info(progressFields(), place);
    const startedMs = performance.now();
    try {
      const { summary, ...states } = await performTask(task, bmc, timeouts, signal);
      const durationMs = Math.round(performance.now() - startedMs);
      done.push({ task: nameOf(task), message: summary, ...states, durationMs });
      log.debug({ task: index + 1, durationMs }, "task done");
    } catch (thrown) {
      throw new ActionFailure(inPlace(thrown, place, describeDone(done)), soFar());
    }
  }
  const messages = done.map(({ message }) => message).join("; ");
  const summary = tasks.length === 1 ? messages : `${tasks.length} tasks done: ${messages}`;
  return { summary, changed: hasChanged(), data: { tasks: done } };
}

/**
 * Plans the tasks after the first, which checks itself before it changes anything. Rejects if no provider, or not the BMC,
 * offers what a task needs. Virtual media are checked first: often no provider supports them, which is known without a
 * request.
 */
async function refuseImpossible(
  { bmc, signal }: Pick<TasksContext, "bmc" | "signal">,
  tasks: readonly Task[],
  timeouts: PowerTimeouts,
): Promise<void> {
  const later = [...tasks.entries()].slice(1).filter(([, { kind }]) => kind !== "status");
  const inOrder = later.toSorted(([, a], [, b]) => Number(b.kind === "media") - Number(a.kind === "media"));
  for (const [index, task] of inOrder) {
    try {
      await planTask(task, bmc, timeouts, undone(task), signal);
    } catch (thrown) {
      throw inPlace(thrown, placeOf(tasks, index, task), ["nothing was changed"]);
    }
  }
}

/** Plans what each task would send, assuming for later tasks that earlier ones are done. */
export async function planTasks(
  { bmc, signal }: Pick<TasksContext, "bmc" | "signal">,
  tasks: readonly Task[],
  timeouts: PowerTimeouts,
): Promise<ActionReport<DryRunData>> {
  const wouldSend: string[] = [];
  const plans: string[] = [];
  let assumed: Assumed = {};
  for (const [index, task] of tasks.entries()) {
    try {
      const { steps, now } = await planTask(task, bmc, timeouts, assumed, signal);
      plans.push(`task ${index + 1} (${nameOf(task)}): ${describeSteps(steps, now)}`);
      wouldSend.push(...steps);
    } catch (thrown) {
      throw inPlace(thrown, placeOf(tasks, index, task), []);
    }
    assumed = afterTask(task, assumed);
  }
  const summary = `dry run, each task as if the earlier ones had succeeded: ${plans.join("; ")}`;
  return { changed: false, data: { wouldSend }, summary };
}

function placeOf(tasks: readonly Task[], index: number, task: Task): string {
  return `task ${index + 1} of ${tasks.length} (${nameOf(task)})`;
}

function describeDone(done: readonly DoneTask[]): readonly string[] {
  return done.map(({ message }, index) => `task ${index + 1} done: ${message}`);
}

/** Adds the place to an error. The reason comes first, because the rest may be cut off. */
function inPlace(thrown: unknown, place: string, also: readonly string[]): BmcError {
  const error = BmcError.from(thrown);
  const message = [`${place}: ${error.message}`, ...also].join("; ");
  return new BmcError(error.class, message, { cause: error, uncertain: error.uncertain });
}
