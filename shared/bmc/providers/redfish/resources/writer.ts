import * as z from "zod/mini";
import { type Backoff, backoffMs } from "../../../../backoff.ts";
import { BmcError } from "../../../../contract/bmc-error.ts";
import { defined } from "../../../../defined.ts";
import type { Logger } from "../../../../logger.ts";
import { endError, LONGEST_TASK_PAUSE_MS } from "../../../operations/follow-task.ts";
import { differenceOf, type Identity, identityIn, TargetMoved } from "../../../operations/identity.ts";
import { ChangeFailed, EndUnknown, isFinal } from "../../../operations/read-back.ts";
import type { OperationTask, StartedTask } from "../../../operations/task-port.ts";
import type { WriteEffect } from "../../../operations/write-proof.ts";
import { redact } from "../service/errors.ts";
import { describe, type HttpAnswer, type HttpRequest } from "../service/http-client.ts";
import { readDenial } from "../service/refusal.ts";
import { Tagged } from "../service/schema.ts";
import type { ManagedSystem } from "./system.ts";
import { TagLadder } from "./tag-ladder.ts";
import type { BackgroundTask, Tasks } from "./task.ts";

/** The target of a write. */
export interface Target {
  /** The name of the target for people. */
  readonly what: string;
  readonly path: string;
  /** The identity of the resource when it was selected. */
  readonly identity: Identity;
  /** Returns the identity of such a resource; by default, from its own fields. */
  readonly identify?: (body: unknown) => Identity;
}

/** A write. Secrets in its body are still hidden. */
export interface WriteRequest {
  readonly method: "POST" | "PATCH" | "DELETE";
  readonly path: string;
  readonly body?: unknown;
  /** The path to read the entity tag from, if one is required; by default, the path itself. */
  readonly tagPath?: string;
  /** The tag of a recent reading. */
  readonly etag?: string | undefined;
  /** The maximum size of the answer in bytes. */
  readonly maxBytes?: number;
  /** The effect of the request, for `HttpRequest`. */
  readonly effect?: WriteEffect;
  /** Whether its task continues to run: the operation follows it, or it waits for the machine's next boot. */
  readonly background?: boolean;
  /** The targets, which are read again right before the write is sent, unless they were the last request. */
  readonly targets?: readonly Target[] | undefined;
  /** Whether the targets are read once more after the BMC accepted the write, because nothing else shows what was changed. */
  readonly rechecks?: boolean;
  /** Set if no reading shows the result, so that it is unknown without the task. */
  readonly needsTask?: boolean;
  /** Set if the caller needs the answer's body, which itself shows that the request was carried out. */
  readonly wantsBody?: boolean;
}

/** Describes for people what a write would send. */
export function describeWrite({ method, path, body }: WriteRequest): string {
  return `${method} ${path}${body === undefined ? "" : ` ${JSON.stringify(body)}`}`;
}

/** Settings take seconds. A request does not wait for a task that takes longer. */
const LONGEST_TASK_MS = 120_000;
const POLL_MS = 500;
/** The shortest pause between polls, even if the BMC asks for less. */
const SHORTEST_POLL: Backoff = { firstMs: 50, maxMs: 1_000, factor: 1.5 };
/** A BMC may create a task a moment after it has named it. */
const APPEARS_MS = 2_000;

/** Sends writes to the BMC, one attempt each: with If-Match as the BMC requires it, and following a task to its end. */
export class Writer {
  readonly #system: ManagedSystem;
  readonly #tasks: Tasks;
  readonly #log: Logger;
  #started: StartedTask | undefined;

  constructor(system: ManagedSystem, tasks: Tasks, log: Logger) {
    this.#system = system;
    this.#tasks = tasks;
    this.#log = log;
  }

  /** Throws `TargetMoved` if the target has changed. */
  async #check({ what, path, identity, identify = identityIn }: Target, signal: AbortSignal): Promise<void> {
    const { service } = this.#system;
    const now = service.justRead(path) ?? (await service.find(path, AnyResource, signal))?.value;
    if (now === undefined) throw new TargetMoved(what, path, "nothing");
    const difference = differenceOf(identity, identify(now));
    if (difference !== undefined) throw new TargetMoved(what, path, difference);
  }

  async #recheck(target: Target, signal: AbortSignal): Promise<void> {
    try {
      await this.#check(target, signal);
    } catch (thrown) {
      if (!(thrown instanceof TargetMoved)) throw uncertain(thrown);
      const { what, path } = target;
      const message = `${what} is no longer at ${path}, where the request was sent: it may have changed another one`;
      throw new BmcError("verify", message, { cause: thrown, uncertain: true });
    }
  }

  /** The task of the last write that still runs in the background. */
  get started(): StartedTask | undefined {
    return this.#started;
  }

  /** Records what a request that was sent without this writer has left running. */
  leaves(started: StartedTask | undefined): void {
    this.#started = started;
  }

  /** Sends a write. Throws if it is refused. */
  async write(request: WriteRequest, signal: AbortSignal): Promise<HttpAnswer> {
    const answer = await this.attempt(request, signal);
    if (answer.status >= 300) throw this.#system.service.refusal(answer, request);
    return answer;
  }

  /**
   * Sends a write and returns any answer. Throws for refused credentials and for a failed task, and throws `verify` if an
   * accepting answer denies the write, which is `uncertain` until the state was read.
   */
  async attempt(request: WriteRequest, signal: AbortSignal): Promise<HttpAnswer> {
    const { service, behaviour } = this.#system;
    const isAction = request.method === "POST";
    const tagPath = request.tagPath ?? request.path;
    // Actions change no resource with a tag, and iDRAC answers 412 to any tag.
    const after = isAction ? "without" : behaviour.afterPreconditionFailed;
    const ladder = new TagLadder(service, after, this.#log);
    let etag = isAction || behaviour.ifMatch === "on-demand" ? undefined : request.etag;
    if (!isAction && behaviour.ifMatch === "first" && etag === undefined) {
      etag = (await service.find(tagPath, Tagged, signal))?.etag;
    }
    this.#system.markChanged();
    this.#started = undefined;
    for (;;) {
      for (const target of request.targets ?? []) await this.#check(target, signal);
      const answer = await service.send(httpRequest(request, etag), signal);
      if (answer.status < 300) {
        if (!isAction && ladder.learned) this.#system.learn(ladder.learned);
        const started = await this.follow(answer, request, signal);
        throwDenial(answer, request);
        for (const target of request.rechecks ? (request.targets ?? []) : []) {
          await this.#recheck(target, signal);
        }
        return started?.resultBody === undefined ? answer : { ...answer, body: started.resultBody };
      }
      const next = await ladder.next(tagPath, etag, answer, signal);
      if (!next) return answer;
      etag = next.etag;
    }
  }

  /** Follows the task of an accepting answer to its end, unless it is left in the background. */
  async follow(
    answer: HttpAnswer,
    request: WriteRequest,
    signal: AbortSignal,
  ): Promise<BackgroundTask | undefined> {
    const started = this.#tasks.startedBy(answer, request);
    if (request.background) this.#started = started;
    else if (started) await this.#untilEnd(started, request, signal);
    else if (request.needsTask && answer.status === 202) throw withoutTask(request);
    return started;
  }

  /**
   * Waits for the end of a task. A task that waits for the next boot counts as accepted, unless nothing else shows the
   * result. Until the limit, every answer except a refused login means "not yet", because the change was accepted.
   */
  async #untilEnd(task: BackgroundTask, request: WriteRequest, signal: AbortSignal): Promise<void> {
    const { clock } = this.#system;
    const endsMs = clock.monotonicMs() + LONGEST_TASK_MS;
    let now = task.end;
    for (let looks = 1; now === undefined || now.state === "running"; looks += 1) {
      if (clock.monotonicMs() > endsMs) break;
      const askedMs = (now ?? task).retryAfterMs ?? POLL_MS;
      const pauseMs = Math.max(askedMs, backoffMs(SHORTEST_POLL, looks));
      await clock.sleep(Math.min(pauseMs, LONGEST_TASK_PAUSE_MS), signal);
      now = (await this.#look(task, signal)) ?? now;
    }
    const end = now ?? { state: "running" };
    if (end.state === "staged" && !request.needsTask) return;
    if (request.wantsBody && task.resultBody !== undefined) return;
    if (end.state === "failed" && end.word !== undefined) {
      const { word, message = "the BMC gives no reason" } = end;
      throw new ChangeFailed(`task ${task.name} ended as ${word}: ${message}`);
    }
    const error = endError(describe(request), end, task.name);
    if (error) throw error;
  }

  async #look(task: BackgroundTask, signal: AbortSignal): Promise<OperationTask | undefined> {
    try {
      return await this.#tasks.look(task, signal, APPEARS_MS);
    } catch (thrown) {
      signal.throwIfAborted();
      const error = BmcError.from(thrown);
      if (isFinal(error)) throw error;
      return undefined;
    }
  }
}

const AnyResource = z.record(z.string(), z.unknown());

function uncertain(thrown: unknown): BmcError {
  const error = BmcError.from(thrown);
  return new BmcError(error.class, error.message, { cause: error, uncertain: true });
}

function withoutTask(request: WriteRequest): BmcError {
  return new EndUnknown(`${describe(request)} was accepted without a task: the result is not known`);
}

/** Throws if an answer accepts the write but its body denies it or a part of it. Only the state then shows what the BMC did. */
export function throwDenial(
  answer: HttpAnswer,
  request: Pick<WriteRequest, "method" | "path" | "body">,
): void {
  const denial = readDenial(answer, (text) => redact(text, request.body));
  if (denial === "") return;
  const message = `${describe(request)} answered ${answer.status}: ${denial}`;
  throw new BmcError("verify", message, { uncertain: true });
}

function httpRequest(
  { method, path, body, maxBytes, effect }: WriteRequest,
  etag: string | undefined,
): HttpRequest {
  return {
    method,
    path,
    ...defined({ body, maxBytes, effect, headers: etag === undefined ? undefined : { "if-match": etag } }),
  };
}
