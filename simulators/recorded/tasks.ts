import { type Answer, notFound, ok } from "../redfish/answer.ts";
import { TASK_MONITORS } from "../redfish/tasks.ts";

const MONITOR = `${TASK_MONITORS}/recorded-`;
const TASK_MS = 300;

interface RecordedTask {
  /** When the task ends; undefined until the machine boots. */
  endsAtMs: number | undefined;
  apply: (() => void) | undefined;
}

/** The tasks, which take effect when they end or at the next boot. */
export class RecordedTasks {
  readonly #tasks: RecordedTask[] = [];

  start(onReset: boolean, apply: () => void): Answer {
    const task: RecordedTask = { endsAtMs: onReset ? undefined : Date.now() + TASK_MS, apply };
    const index = this.#tasks.push(task);
    if (!onReset) setTimeout(() => end(task), TASK_MS).unref();
    return { status: 202, headers: { Location: `${MONITOR}${index}` }, body: stateOf(task) };
  }

  boot(): void {
    for (const task of this.#tasks) if (task.endsAtMs === undefined) end(task);
  }

  /** Returns undefined for a path that is not a task's. */
  monitor(path: string): Answer | undefined {
    if (!path.startsWith(MONITOR)) return undefined;
    const task = this.#tasks[Number(path.slice(MONITOR.length)) - 1];
    if (!task) return notFound(path);
    const isRunning = task.apply !== undefined && task.endsAtMs !== undefined;
    return isRunning ? { status: 202, headers: { Location: path }, body: stateOf(task) } : ok(stateOf(task));
  }
}

function end(task: RecordedTask): void {
  task.apply?.();
  task.apply = undefined;
}

function stateOf({ apply, endsAtMs }: RecordedTask) {
  const TaskState = apply === undefined ? "Completed" : endsAtMs === undefined ? "Pending" : "Running";
  return { Id: "1", Name: "Task", TaskState, TaskStatus: "OK", Messages: [] };
}
