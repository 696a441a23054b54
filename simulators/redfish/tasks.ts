import { type Answer, notFound, ok } from "./answer.ts";

export const TASK_MONITORS = "/redfish/v1/TaskService/TaskMonitors";

export interface TaskOptions {
  /** How long a task runs, in milliseconds. */
  readonly ms: number;
  /** The Retry-After header while the task runs. */
  readonly retryAfter?: string;
  /** The message with which the task fails. By default it completes. */
  readonly failure?: string;
  /** What the monitor answers while the task runs: 202, or 200 with the task. Defaults to 202. */
  readonly runningStatus?: 200 | 202;
}

/** The tasks that are started by answers with 202. */
export class Tasks {
  readonly #options: TaskOptions;
  readonly #endsAt = new Map<string, number>();

  constructor(options: TaskOptions) {
    this.#options = options;
  }

  start(): Answer {
    const path = `${TASK_MONITORS}/${this.#endsAt.size + 1}`;
    this.#endsAt.set(path, Date.now() + this.#options.ms);
    return { status: 202, headers: { Location: path, ...this.#retryAfter() }, body: task("Starting") };
  }

  monitor(path: string): Answer {
    const endsAt = this.#endsAt.get(path);
    if (endsAt === undefined) return notFound(path);
    if (Date.now() < endsAt) {
      return {
        status: this.#options.runningStatus ?? 202,
        headers: this.#retryAfter(),
        body: task("Running"),
      };
    }
    const { failure } = this.#options;
    if (failure === undefined) return ok(task("Completed"));
    const message = { MessageId: "Contoso.1.0.TaskFailed", Message: failure };
    return ok({ ...task("Exception"), TaskStatus: "Critical", Messages: [message] });
  }

  #retryAfter(): Record<string, string> {
    return this.#options.retryAfter === undefined ? {} : { "Retry-After": this.#options.retryAfter };
  }
}

function task(state: string) {
  return { Id: "1", Name: "Task", TaskState: state, TaskStatus: "OK", Messages: [] };
}
