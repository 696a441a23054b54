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
  /** In order; after a failure those before it. */
  readonly tasks: readonly DoneTask[];
}

/**
 * Carries the tasks out one after another, once none of them is known to be impossible. Rejects at the first that
 * fails, with what was done before it.
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
 * Plans what comes after the first task, which itself says so before it changes anything, and rejects with what none
 * of the providers or the BMC offers. Virtual media go first: often no provider has them, which shows without a
 * packet.
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

/** What each task would send, the later ones as if the earlier were done. */
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

/** The reason first: what follows may be cut off. */
function inPlace(thrown: unknown, place: string, also: readonly string[]): BmcError {
  const error = BmcError.from(thrown);
  const message = [`${place}: ${error.message}`, ...also].join("; ");
  return new BmcError(error.class, message, { cause: error, uncertain: error.uncertain });
}
