import { randomUUID } from "node:crypto";
import { Code, ConnectError, type HandlerContext } from "@connectrpc/connect";
import type { Clock } from "../../../../shared/clock.ts";
import { defined } from "../../../../shared/defined.ts";
import type { Logger } from "../../../../shared/logger.ts";
import { printableLine, shortened } from "../../../../shared/printable.ts";
import { TimeoutReached, withTimeout } from "../../../../shared/timeout.ts";
import type { Action } from "../../../core/action/action.ts";
import type { Authn } from "../api/gen/common_pb.ts";
import { CALLER } from "../caller.ts";
import { readAuthn, type Subject, subjectName } from "./authn.ts";
import { type AskedTask, RequestIds } from "./request-ids.ts";
import type { TaskRecord } from "./task-record.ts";
import type { TaskStore } from "./task-store.ts";
import { type EndedTask, type ImageTerms, notRecorded, type Tasks, taskAction } from "./tasks.ts";
import type { Work } from "./work.ts";

/** The reason why policy or inventory would refuse an action. */
export type Refusal = { readonly kind: "denied" | "not-found" | "invalid"; readonly reason: string };

export interface RequestsOptions extends ImageTerms {
  readonly tasks: Tasks;
  readonly store: TaskStore;
  readonly refusalOf: (action: Action) => Refusal | undefined;
  /** Why secrets of requests cannot be passed to actions; undefined if they can. */
  readonly secretsProblem: string | undefined;
  /** Whether the worker has stopped accepting tasks. */
  readonly isStopping: () => boolean;
  readonly clock: Clock;
  readonly log: Logger;
}

type Asking = { readonly authn?: Authn | undefined };
type Context = Pick<HandlerContext, "method" | "requestHeader" | "signal" | "values">;

const REQUEST_ID = "x-request-id";
const LONGEST_SHOWN = 128;
/** How long a call that answers directly waits for its action. */
const DIRECT_MS = 120_000;

const REFUSED = {
  denied: Code.PermissionDenied,
  "not-found": Code.NotFound,
  invalid: Code.InvalidArgument,
} as const;

/** Turns requests into tasks or refuses them. */
export class Requests {
  readonly #options: RequestsOptions;
  readonly #ids = new RequestIds();

  constructor(options: RequestsOptions) {
    this.#options = options;
  }

  /** Resolves to the task; a repeated request gets the task of the first one. Rejects with a `ConnectError`. */
  async submit(asking: Asking, work: Work, context: Context): Promise<TaskRecord> {
    const { tasks, store, log } = this.#options;
    const caller = context.values.get(CALLER);
    const subject = readAuthn(asking.authn);
    const asked = askedTask(subject, work);
    const requestId = context.requestHeader.get(REQUEST_ID) ?? undefined;
    const fields = {
      method: context.method.name,
      machine: asked.subject,
      ...defined({ requestId: shown(requestId), caller: shown(caller.name) }),
    };
    try {
      this.#check(asked, caller.mayUse(asked.subject));
      const requestKey = work.repeats ? undefined : this.#ids.keyOf(caller.name, requestId, asked.subject);
      const known = requestKey === undefined ? undefined : store.ofRequest(requestKey);
      if (known && this.#ids.isSame(known, asked)) {
        // The first request removes a task that cannot be recorded.
        await store.written(known.id).catch(() => {
          throw notRecorded();
        });
        log.info({ ...fields, task: known.id }, "PBnJ request repeated");
        return known;
      }
      if (this.#options.isStopping()) throw new ConnectError("the worker is stopping", Code.Unavailable);
      const id = randomUUID();
      this.#ids.remember(id, asked);
      const record = await tasks.accept({ ...asked, id, requestKey });
      log.info({ ...fields, task: record.id }, "PBnJ request accepted");
      return record;
    } catch (thrown) {
      const { code, rawMessage } = ConnectError.from(thrown);
      log.warn({ ...fields, code: Code[code], reason: rawMessage }, "PBnJ request rejected");
      throw thrown;
    }
  }

  /** Submits a task and waits for its end. Rejects with a `ConnectError`, also if the action failed. */
  async complete(asking: Asking, work: Work, context: Context): Promise<EndedTask> {
    const { tasks, clock } = this.#options;
    const { id } = await this.submit(asking, work, context);
    let ended: EndedTask;
    try {
      ended = await withTimeout(DIRECT_MS, context.signal, (signal) => tasks.ended(id, signal), clock);
    } catch (thrown) {
      if (!(thrown instanceof TimeoutReached)) throw thrown;
      const problem = `not finished within ${DIRECT_MS / 1_000} s: its outcome is that of task ${id}`;
      throw new ConnectError(problem, Code.DeadlineExceeded);
    }
    const { error } = ended.end;
    if (error) throw new ConnectError(error.message, error.code);
    return ended;
  }

  /** Finds a task. Throws NOT_FOUND also if the caller may not see it. */
  find(id: string, context: Context): TaskRecord {
    const record = this.#options.store.find(id);
    if (record && context.values.get(CALLER).mayUse(record.subject)) return record;
    throw new ConnectError(`record id not found: ${shown(id)}`, Code.NotFound);
  }

  #check(asked: AskedTask, mayUse: boolean): void {
    const { refusalOf, secretsProblem } = this.#options;
    if (!mayUse) throw new ConnectError(`the caller may not use ${asked.subject}`, Code.PermissionDenied);
    if (asked.secrets && secretsProblem !== undefined) {
      throw new ConnectError(secretsProblem, Code.FailedPrecondition);
    }
    const { secrets, ...about } = asked;
    // The ID belongs to no task; only its format matters.
    const task = { ...about, id: "new", hasDirectAccess: secrets?.bmc !== undefined };
    const action = { ...taskAction(task, this.#options), secrets };
    const refusal = refusalOf(action);
    if (!refusal) return;
    throw new ConnectError(refusal.reason, REFUSED[refusal.kind]);
  }
}

function askedTask(subject: Subject, { description, inputs, repeats: _, ...work }: Work): AskedTask {
  const bmc = "bmc" in subject ? subject.bmc : undefined;
  const secrets = bmc || inputs ? { bmc, inputs } : undefined;
  return { description, subject: subjectName(subject), work, secrets };
}

function shown(text: string | undefined): string | undefined {
  return text === undefined ? undefined : shortened(printableLine(text), LONGEST_SHOWN);
}
