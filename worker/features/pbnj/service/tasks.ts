import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock } from "../../../../shared/clock.ts";
import type { ErrorClass } from "../../../../shared/contract/error-class.ts";
import { oneLine } from "../../../../shared/contract/result.ts";
import type { Logger } from "../../../../shared/logger.ts";
import { textOf } from "../../../../shared/text-of.ts";
import type { Action, ActionId, ActionSecrets, ActionStatus, Outcome } from "../../../core/action/action.ts";
import type { ActionEvent, Observer } from "../../../core/action/observer.ts";
import type { Acknowledgement, StatusSink } from "../../../core/ports/source.ts";
import { HeldQueue } from "../../../sources/held-queue.ts";
import { powerSeen } from "../../shared/power-seen.ts";
import { PBNJ_AGENT_ID } from "../../shared/source-agent-ids.ts";
import type { RequestedTask, TaskRecord } from "./task-record.ts";
import type { TaskStore } from "./task-store.ts";

type TaskEnd = NonNullable<TaskRecord["end"]>;
/** How a task ended, without the time. */
type TaskConclusion = Omit<TaskEnd, "at">;

/** The end of a task. The outcome is set only if this worker saw it. */
export interface EndedTask {
  readonly end: TaskEnd;
  readonly outcome: Outcome | undefined;
}

/** Calls that wait for the end of a task, by task ID. */
class TaskWaiters {
  readonly #waiting = new Map<string, Set<(ended: EndedTask) => void>>();

  /** Waits for the end of a task. Rejects with the signal's reason. */
  async wait(id: string, signal: AbortSignal): Promise<EndedTask> {
    const { promise, resolve, reject } = Promise.withResolvers<EndedTask>();
    const waiting = this.#waiting.get(id) ?? new Set();
    this.#waiting.set(id, waiting.add(resolve));
    const abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) abort();
    try {
      return await promise;
    } finally {
      signal.removeEventListener("abort", abort);
      waiting.delete(resolve);
      if (waiting.size === 0) this.#waiting.delete(id);
    }
  }

  ended(id: string, ended: EndedTask): void {
    for (const resolve of this.#waiting.get(id) ?? []) resolve(ended);
  }
}

export interface TasksOptions extends ImageTerms {
  readonly store: TaskStore;
  readonly clock: Clock;
  readonly log: Logger;
  /** The maximum number of unfinished tasks. */
  readonly mostPending?: number;
}

export interface NewTask extends RequestedTask {
  readonly id: string;
  readonly secrets: ActionSecrets | undefined;
  readonly requestKey: string | undefined;
}

const MOST_PENDING = 1_000;
/** A task that has not started within this time fails, because its client has stopped waiting. */
const START_WITHIN_MS = 600_000;
const EXPIRY_CHECK_MS = 1_000;
const MOST_MESSAGES = 100;
/** PBnJ's result for every failure. */
const FAILED = "action failed";
const UNKNOWN_OUTCOME = "the worker was restarted while the action ran: its outcome is unknown";
const SECRETS_GONE =
  "not carried out: the worker was restarted before the action began, and the request's secrets were only in memory";
const WAITING = "waiting for the machine";
const TOO_LATE = "not carried out within 10 minutes";
const IN_USE = "the machine, or every slot, was in use";

/** The tasks of PBnJ's API, from their acceptance to their outcome. */
export class Tasks implements StatusSink {
  readonly queue: HeldQueue<TaskRecord>;
  readonly #options: TasksOptions;
  /** Secrets by task ID, like the maps below. */
  readonly #secrets = new Map<string, ActionSecrets>();
  readonly #cancels = new Map<string, AbortController>();
  readonly #outcomes = new Map<string, Outcome>();
  readonly #refused = new Set<string>();
  readonly #running = new Set<string>();
  readonly #waiters = new TaskWaiters();

  constructor(options: TasksOptions) {
    this.#options = options;
    this.queue = new HeldQueue({
      clock: options.clock,
      agentId: PBNJ_AGENT_ID,
      idle: "no task is pending",
      actionOf: ({ id }) => {
        const record = options.store.find(id);
        if (!record || record.end) return undefined;
        if (this.#isLate(record)) {
          this.#expire(record);
          return undefined;
        }
        return { ...taskAction(record, options), secrets: this.#secrets.get(id) };
      },
    });
  }

  /** Resumes the tasks of an earlier worker. Tasks in the journal (`isAdopted`) are adopted; the others are served again. */
  resume(isAdopted: (action: ActionId) => boolean): void {
    for (const record of this.#options.store.pending()) {
      if (isAdopted(taskAction(record, this.#options))) continue;
      if (record.hasSecrets) this.#failForLackOfSecrets(record);
      else this.queue.add(record);
    }
  }

  /** Resolves to the task once it is on disk. Throws RESOURCE_EXHAUSTED, or UNAVAILABLE if it cannot be written. */
  async accept({ secrets, requestKey, ...about }: NewTask): Promise<TaskRecord> {
    const { clock, store, log, mostPending = MOST_PENDING } = this.#options;
    if (store.pending().length >= mostPending) {
      throw new ConnectError(`${mostPending} tasks are pending: retry later`, Code.ResourceExhausted);
    }
    const record: TaskRecord = {
      version: 1,
      ...about,
      hasSecrets: secrets !== undefined,
      hasDirectAccess: secrets?.bmc !== undefined,
      requestKey,
      acceptedAt: new Date(clock.now()).toISOString(),
      messages: [],
    };
    if (secrets) this.#secrets.set(record.id, secrets);
    try {
      await store.put(record);
    } catch (thrown) {
      this.#secrets.delete(record.id);
      await store.remove(record.id).catch(() => undefined);
      log.error({ error: textOf(thrown) }, "PBnJ request rejected: task record not written");
      throw notRecorded();
    }
    this.queue.add(record);
    return record;
  }

  /** Resolves when the task has ended. Rejects with the signal's reason. */
  async ended(id: string, signal: AbortSignal): Promise<EndedTask> {
    const end = this.#options.store.find(id)?.end;
    if (end) return { end, outcome: undefined };
    return this.#waiters.wait(id, signal);
  }

  /** Returns a signal that aborts when the task did not start in time; undefined for actions of other sources. */
  cancelOf(action: ActionId): AbortSignal | undefined {
    const record = action.agentId === PBNJ_AGENT_ID && this.#options.store.find(action.taskId);
    if (!record || record.end) return undefined;
    const cancel = this.#cancels.get(action.taskId) ?? new AbortController();
    this.#cancels.set(action.taskId, cancel);
    return cancel.signal;
  }

  async report(
    { action, state, startedAt, message }: ActionStatus,
    signal: AbortSignal,
  ): Promise<Acknowledgement> {
    signal.throwIfAborted();
    const { store } = this.#options;
    const record = store.find(action.taskId);
    if (!record) return { kind: "gone", code: "NotFound", reason: "the task is not known any more" };
    if (record.end && state === "running") {
      return { kind: "rejected", code: "FailedPrecondition", reason: "the task has ended" };
    }
    try {
      // The record is also written again if the last attempt failed.
      if (record.end) await store.put(record);
      else if (state !== "running") await this.#end(record, this.#conclude(record, state, message));
      else await store.put({ ...record, startedAt: startedAt.toISOString() });
      return { kind: "acknowledged" };
    } catch (thrown) {
      return { kind: "retry", code: "Unavailable", reason: textOf(thrown) };
    }
  }

  /** Ends tasks that do not start in time. Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, store } = this.#options;
    while (!signal.aborted) {
      for (const record of store.pending()) {
        const isWaiting = this.queue.has(record.id) && !this.#running.has(record.id);
        if (isWaiting && this.#isLate(record)) this.#expire(record);
      }
      await clock.sleep(EXPIRY_CHECK_MS, signal).catch(() => undefined);
    }
  }

  #isLate({ acceptedAt }: TaskRecord): boolean {
    return this.#options.clock.now() - Date.parse(acceptedAt) > START_WITHIN_MS;
  }

  #expire(record: TaskRecord): void {
    if (record.startedAt) this.#fail(record, Code.Unknown, UNKNOWN_OUTCOME);
    else {
      // The reason names the known cause of the wait: a paused machine.
      const last = record.messages.at(-1) ?? WAITING;
      this.#fail(record, Code.DeadlineExceeded, `${TOO_LATE}: ${last === WAITING ? IN_USE : last}`);
    }
  }

  readonly observer: Observer = {
    action: (event) => {
      if (event.action.agentId === PBNJ_AGENT_ID) this.#see(event);
    },
  };

  #see(event: ActionEvent): void {
    const { taskId } = event.action;
    const record = this.#options.store.find(taskId);
    if (!record || record.end) return;
    switch (event.kind) {
      case "taken":
        this.#addMessage(record, WAITING);
        break;
      case "refused":
        this.#refused.add(taskId);
        break;
      case "started":
        this.#running.add(taskId);
        this.#addMessage(record, `working on ${record.description}`);
        break;
      case "progress":
        if (event.progress) this.#addMessage(record, event.progress.text);
        break;
      case "ended":
        this.#outcomes.set(taskId, event.outcome);
        break;
      case "returned":
        this.#running.delete(taskId);
        if (record.hasSecrets && !this.#secrets.has(taskId)) this.#failForLackOfSecrets(record);
        else this.queue.add(record);
        break;
      case "line":
      case "reported":
        break;
      default:
        event satisfies never;
    }
  }

  #conclude({ id, work }: TaskRecord, state: ActionStatus["state"], message: string): TaskConclusion {
    const outcome = this.#outcomes.get(id);
    if (state === "success") {
      const power = outcome?.result && powerSeen(outcome.result);
      return { result: work.result === "power-state" ? (power ?? message) : work.result };
    }
    const byState = state === "timeout" ? Code.DeadlineExceeded : codeOf(outcome?.class);
    // An action for a paused machine was refused as well, but the caller may request it.
    const isDenied = this.#refused.has(id) && outcome?.class !== "state";
    const code = isDenied ? Code.PermissionDenied : byState;
    return { result: FAILED, error: { code, message: outcome?.message ?? message } };
  }

  #failForLackOfSecrets(record: TaskRecord): void {
    if (record.startedAt) this.#fail(record, Code.Unknown, UNKNOWN_OUTCOME);
    else this.#fail(record, Code.Aborted, SECRETS_GONE);
  }

  #fail(record: TaskRecord, code: Code, message: string): void {
    const { log } = this.#options;
    const { id: task, subject } = record;
    log.warn({ task, machine: subject, reason: message }, "PBnJ task failed");
    this.#cancels.get(task)?.abort(new Error(message));
    // The task has ended in memory; the next worker will end it in the same way.
    this.#end(record, { result: FAILED, error: { code, message } }).catch((thrown: unknown) => {
      log.error({ task, error: textOf(thrown) }, "PBnJ task record not written");
    });
  }

  /** Ends a task. Rejects with a system error, but the task has ended in memory in any case. */
  async #end(record: TaskRecord, ended: TaskConclusion): Promise<void> {
    const { clock, store } = this.#options;
    const { id, description } = record;
    const outcome = this.#outcomes.get(id);
    const end = { at: new Date(clock.now()).toISOString(), ...ended };
    const last = ended.error?.message ?? outcome?.message ?? `${description} complete`;
    const written = store.put({ ...record, messages: withMessage(record.messages, last), end });
    this.#waiters.ended(id, { end, outcome });
    this.queue.remove(id);
    for (const known of [this.#secrets, this.#cancels, this.#outcomes, this.#refused, this.#running]) {
      known.delete(id);
    }
    await written;
  }

  #addMessage(record: TaskRecord, text: string): void {
    this.#options.store.keep({ ...record, messages: withMessage(record.messages, text) });
  }
}

export function notRecorded(): ConnectError {
  return new ConnectError("the task cannot be recorded", Code.Unavailable);
}

/** Adds a message without repetitions; the latest one is always kept. */
function withMessage(messages: readonly string[], text: string): string[] {
  const line = oneLine(text);
  return messages.at(-1) === line ? [...messages] : [...messages.slice(0, MOST_MESSAGES - 1), line];
}

/** The gRPC code of a task whose action failed. Default: UNKNOWN, which PBnJ returns for most failures. */
function codeOf(errorClass: ErrorClass | undefined): Code {
  switch (errorClass) {
    case "usage":
      return Code.InvalidArgument;
    // PBnJ's code for a BMC that refuses the login.
    case "auth":
      return Code.PermissionDenied;
    case "tls":
    case "state":
      return Code.FailedPrecondition;
    case "unsupported":
      return Code.Unimplemented;
    case "timeout":
      return Code.DeadlineExceeded;
    case "cancelled":
      return Code.Canceled;
    // UNAVAILABLE would make clients and proxies retry the ended task forever.
    case "unreachable":
    case "busy":
    case "verify":
    case "protocol":
    case "bmc":
    case "internal":
    case undefined:
      return Code.Unknown;
    default:
      return errorClass satisfies never;
  }
}

export interface ImageTerms {
  /** With `{action}` and optionally `{version}`. */
  readonly image: string;
  readonly version: string;
}

/** The action of a task, without secrets. The tenants rule of a policy finds `pbnj` as its namespace. */
export function taskAction(
  {
    id,
    subject,
    work,
    hasDirectAccess,
  }: RequestedTask & { readonly id: string; readonly hasDirectAccess: boolean },
  { image, version }: ImageTerms,
): Action {
  const { action: name, environment, timeoutMs } = work;
  return {
    workflowId: `pbnj/${id}`,
    taskId: id,
    agentId: PBNJ_AGENT_ID,
    anyNamespace: true,
    actionId: id,
    name,
    image: image.replaceAll("{action}", name).replaceAll("{version}", version),
    timeoutMs,
    command: [],
    volumes: [],
    environment: { ...(!hasDirectAccess && { MACHINE: subject }), ...environment },
  };
}
