import type { Clock } from "../../../../clock.ts";
import { BmcError } from "../../../../contract/bmc-error.ts";
import { oneLine } from "../../../../contract/result.ts";
import { parseRetryAfterMs } from "../../../http/status-error.ts";
import { classOfMessages, redact } from "../service/errors.ts";
import type { HttpAnswer } from "../service/http-client.ts";
import { describeMessages } from "../service/refusal.ts";
import { Task } from "../service/schema.ts";
import type { Service } from "../service/service.ts";
import { namedTask } from "./named-task.ts";

const POLL_MS = 500;
const SHORTEST_POLL_MS = 50;
const LONGEST_POLL_MS = 30_000;
/** Power and boot tasks take seconds; one that takes longer is no longer this request's concern. */
const LONGEST_TASK_MS = 120_000;

export const UNDER_WAY = ["New", "Starting", "Running", "Stopping", "Cancelling", "Service"];
const FAILED = ["Exception", "Killed", "Cancelled", "Interrupted"];

export interface TaskContext {
  readonly clock: Clock;
  /** The body of the request that started it: its secrets stay out of errors. */
  readonly body?: unknown;
}

/**
 * Follows what a 202 started, at the task monitor its Location names (DSP0266 section 12.2), to its end.
 * An answer that started nothing, or names no monitor, is accepted as it is. `Pending` counts as accepted:
 * such a task waits for the machine's next boot. A failed task's own messages are the error.
 */
export async function awaitTask(
  service: Service,
  started: HttpAnswer,
  { clock, body }: TaskContext,
  signal: AbortSignal,
): Promise<void> {
  const path =
    started.status === 202 ? service.localPath(started.headers["location"] ?? namedTask(started)) : undefined;
  if (path === undefined) return;
  const startedAt = clock.monotonicMs();
  for (let answer = started; isUnderWay(answer); ) {
    if (clock.monotonicMs() - startedAt > LONGEST_TASK_MS) {
      throw new BmcError("timeout", `task ${path} did not end within ${LONGEST_TASK_MS / 1_000} s`, {
        uncertain: true,
      });
    }
    await clock.sleep(pauseMs(answer, clock), signal);
    answer = await poll(service, path, signal);
    // Some BMCs drop a monitor as soon as its task has ended.
    if (answer.status === 404 || answer.status === 410) return;
    const error = failure(service, answer, { path, body });
    if (error && error.class !== "busy") throw error;
  }
}

/** The write has been accepted already: a poll that fails leaves its result open. */
async function poll(service: Service, path: string, signal: AbortSignal): Promise<HttpAnswer> {
  try {
    return await service.send({ method: "GET", path }, signal);
  } catch (thrown) {
    signal.throwIfAborted();
    const { class: errorClass, message } = BmcError.from(thrown);
    throw new BmcError(errorClass, message, { cause: thrown, uncertain: true });
  }
}

function pauseMs(answer: HttpAnswer, clock: Clock): number {
  const asked = parseRetryAfterMs(answer.headers["retry-after"], clock.now()) ?? POLL_MS;
  return Math.min(Math.max(asked, SHORTEST_POLL_MS), LONGEST_POLL_MS);
}

function isUnderWay(answer: HttpAnswer): boolean {
  if (answer.status >= 300) return true;
  const state = taskOf(answer)?.TaskState;
  if (answer.status === 202) return state === undefined || UNDER_WAY.includes(state);
  return state !== undefined && UNDER_WAY.includes(state);
}

function failure(
  service: Service,
  answer: HttpAnswer,
  { path, body }: { readonly path: string; readonly body: unknown },
): BmcError | undefined {
  if (answer.status >= 300) return service.refusal(answer, { method: "GET", path, body });
  const task = taskOf(answer);
  if (!task || !hasFailed(task)) return undefined;
  const { text, messageIds } = describeMessages(task.Messages, (said) => redact(said, body));
  const message = oneLine(`task ${path} ended as ${task.TaskState}${text && `: ${text}`}`);
  return new BmcError(classOfMessages(messageIds) ?? "bmc", message);
}

export function hasFailed({ TaskState: state = "", TaskStatus: status }: Task): boolean {
  return FAILED.includes(state) || (state === "Completed" && status === "Critical");
}

export function taskOf(answer: HttpAnswer): Task | undefined {
  const parsed = Task.safeParse(answer.body);
  return parsed.success ? parsed.data : undefined;
}
