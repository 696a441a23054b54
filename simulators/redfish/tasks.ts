import { type Answer, notFound, ok } from "./answer.ts";

export const TASK_MONITORS = "/redfish/v1/TaskService/TaskMonitors";

export interface TaskOptions {
  /** How long a task runs. */
  readonly ms: number;
  /** Sent as Retry-After while it runs. */
  readonly retryAfter?: string;
  /** Its end; with a message when it fails. Default completed. */
  readonly failure?: string;
  /** What the monitor shows while it runs: 202, or 200 with the task. Default 202. */
  readonly runningStatus?: 200 | 202;
}

/** The tasks that 202 answers start. */
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
