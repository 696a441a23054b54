import { type Backoff, backoffMs } from "../../../../backoff.ts";
import type { Clock } from "../../../../clock.ts";
import { BmcError } from "../../../../contract/bmc-error.ts";
import { parseRetryAfterMs } from "../../../http/status-error.ts";
import { ChangeFailed, isFinal } from "../../../operations/read-back.ts";
import { redact } from "../service/errors.ts";
import type { HttpAnswer } from "../service/http-client.ts";
import { describeMessages } from "../service/refusal.ts";
import { Link as Linked, Task } from "../service/schema.ts";
import type { Service } from "../service/service.ts";
import { namedTask } from "./named-task.ts";

const POLL_MS = 500;
/** However soon the BMC asks to be asked again. */
const SHORTEST_POLL: Backoff = { firstMs: 50, maxMs: 1_000, factor: 1.5 };
const LONGEST_POLL_MS = 30_000;
/** Power and boot tasks take seconds; one that takes longer is no longer this request's concern. */
const LONGEST_TASK_MS = 120_000;
/** Looks at a task that was never there, before it counts as missing: a BMC may make it a moment later. */
const MISSING_LOOKS = 3;

export const UNDER_WAY = ["New", "Starting", "Running", "Stopping", "Cancelling", "Service"];
const FAILED = ["Exception", "Killed", "Cancelled", "Interrupted"];

export interface TaskContext {
  readonly clock: Clock;
  /** The body of the request that started it: its secrets stay out of errors. */
  readonly body?: unknown;
}

/** How a task ended: well, or that is not known, because the BMC never had it or because it takes longer. */
export type TaskEnd = "ended" | "missing" | "unfinished";

/**
 * Follows what an answer started, at the task monitor its Location names (DSP0266 section 12.2) or at the task in its body, to its
 * end. An answer that started nothing, or names no task, is accepted as it is. `Pending` counts as accepted: such a
 * task waits for the machine's next boot. A failed task's own messages are the error. Until the limit, every answer but a
 * refused login means "not yet": the change was accepted.
 */
export async function awaitTask(
  service: Service,
  started: HttpAnswer,
  { clock, body }: TaskContext,
  signal: AbortSignal,
): Promise<TaskEnd> {
  const paths = taskPaths(service, started);
  failUnlessWell(started, { path: paths[0] ?? started.path, body });
  const startedAt = clock.monotonicMs();
  let answer = started;
  let isFound = false;
  let missed = 0;
  let index = 0;
  for (let looks = 1; isUnderWay(answer); looks += 1) {
    const path = paths[index];
    if (path === undefined) return "ended";
    if (clock.monotonicMs() - startedAt > LONGEST_TASK_MS) return "unfinished";
    await clock.sleep(pauseMs(answer, looks, clock), signal);
    answer = (await poll(service, path, signal)) ?? answer;
    if (answer.status === 404 || answer.status === 410) {
      // Some BMCs drop a monitor as soon as its task has ended.
      if (isFound) return "ended";
      if (paths.length > 1) index = (index + 1) % paths.length;
      missed += 1;
      if (missed >= MISSING_LOOKS * paths.length) return "missing";
    } else if (answer.status < 300) isFound = true;
    failUnlessWell(answer, { path, body });
  }
  return "ended";
}

/** Where a task may be looked at, best first; none where the answer has started none. */
function taskPaths(service: Service, started: HttpAnswer): readonly string[] {
  const { status, headers, body } = started;
  const state = taskOf(started)?.TaskState;
  if (status >= 300 || (status !== 202 && state === undefined)) return [];
  const link = Linked.safeParse(body);
  const linked = link.success ? service.localPath(link.data["@odata.id"]) : undefined;
  const named = service.localPath(namedTask(started));
  const paths = [status === 202 ? service.pathOf(headers["location"]) : undefined, linked, named];
  return [...new Set(paths.filter((path) => path !== undefined))];
}

/** The write has been accepted already: what a poll is answered says nothing about it, but for a refused login. */
async function poll(service: Service, path: string, signal: AbortSignal): Promise<HttpAnswer | undefined> {
  try {
    return await service.send({ method: "GET", path }, signal);
  } catch (thrown) {
    signal.throwIfAborted();
    const error = BmcError.from(thrown);
    if (!isFinal(error)) return undefined;
    throw new BmcError(error.class, error.message, { cause: thrown, uncertain: true });
  }
}

function pauseMs(answer: HttpAnswer, look: number, clock: Clock): number {
  const asked = parseRetryAfterMs(answer.headers["retry-after"], clock.now()) ?? POLL_MS;
  return Math.min(Math.max(asked, backoffMs(SHORTEST_POLL, look)), LONGEST_POLL_MS);
}

function isUnderWay(answer: HttpAnswer): boolean {
  if (answer.status >= 300) return true;
  const state = taskOf(answer)?.TaskState;
  if (answer.status === 202) return state === undefined || UNDER_WAY.includes(state);
  return state !== undefined && UNDER_WAY.includes(state);
}

/** The class of a failed task is its own: what its messages mean for a request, such as "not allowed", no longer counts. */
function failUnlessWell(
  answer: HttpAnswer,
  { path, body }: { readonly path: string; readonly body: unknown },
): void {
  const task = answer.status < 300 ? taskOf(answer) : undefined;
  if (!task || !hasFailed(task)) return;
  const { text } = describeMessages(task.Messages, (said) => redact(said, body));
  throw new ChangeFailed(`task ${path} ended as ${task.TaskState}${text && `: ${text}`}`);
}

export function hasFailed({ TaskState: state = "", TaskStatus: status }: Task): boolean {
  return FAILED.includes(state) || (state === "Completed" && status === "Critical");
}

export function taskOf(answer: HttpAnswer): Task | undefined {
  const parsed = Task.safeParse(answer.body);
  return parsed.success ? parsed.data : undefined;
}
