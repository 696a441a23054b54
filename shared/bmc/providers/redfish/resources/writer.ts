import * as z from "zod/mini";
import { BmcError } from "../../../../contract/bmc-error.ts";
import { defined } from "../../../../defined.ts";
import type { Logger } from "../../../../logger.ts";
import { differenceOf, type Identity, identityIn, TargetMoved } from "../../../operations/identity.ts";
import { redact } from "../service/errors.ts";
import { describe, type HttpAnswer, type HttpRequest } from "../service/http-client.ts";
import { readDenial } from "../service/refusal.ts";
import { Tagged } from "../service/schema.ts";
import type { ManagedSystem } from "./system.ts";
import { TagLadder } from "./tag-ladder.ts";
import { awaitTask, type TaskEnd } from "./task.ts";

/** A resource that a write is meant for. */
export interface Target {
  /** For people. */
  readonly what: string;
  readonly path: string;
  /** As it was when it was chosen. */
  readonly identity: Identity;
  /** What identifies such a resource; its own fields if absent. */
  readonly identify?: (body: unknown) => Identity;
}

/** A write, its body with its secrets still closed. */
export interface WriteRequest {
  readonly method: "POST" | "PATCH" | "DELETE";
  readonly path: string;
  readonly body?: unknown;
  /** Where its entity tag is read, should one be asked for; the path itself when absent. */
  readonly tagPath?: string;
  /** The tag that a reading a moment ago came with. */
  readonly etag?: string | undefined;
  /** The most that is read of the answer, in bytes. */
  readonly maxBytes?: number;
  /** Its task waits for the machine's next boot, and is not followed. */
  readonly untilBoot?: boolean;
  /** What the write is meant for: read again right before it is sent, unless that was the last request. */
  readonly targets?: readonly Target[] | undefined;
  /** Whether the targets are read once more when it was accepted, because nothing else shows what the BMC did it to. */
  readonly rechecks?: boolean;
  /** Nothing that can be read shows its result: without its task it is not known. */
  readonly needsTask?: boolean;
}

/** For people, what a write would send. */
export function describeWrite({ method, path, body }: WriteRequest): string {
  return `${method} ${path}${body === undefined ? "" : ` ${JSON.stringify(body)}`}`;
}

/** Writes to the BMC, each one attempt: If-Match as the BMC wants it, a task followed to its end. */
export class Writer {
  readonly #system: ManagedSystem;
  readonly #log: Logger;

  constructor(system: ManagedSystem, log: Logger) {
    this.#system = system;
    this.#log = log;
  }

  /** Throws `TargetMoved` if the target is not what it was. */
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

  /** Sends a write; a refusal throws. */
  async write(request: WriteRequest, signal: AbortSignal): Promise<HttpAnswer> {
    const answer = await this.attempt(request, signal);
    if (answer.status >= 300) throw this.#system.service.refusal(answer, request);
    return answer;
  }

  /**
   * Sends a write whatever its answer. Refused credentials and a failed task throw, and `verify` what an accepting answer
   * denies, which is `uncertain` until the state was read.
   */
  async attempt(request: WriteRequest, signal: AbortSignal): Promise<HttpAnswer> {
    const { service, behaviour, clock } = this.#system;
    const isAction = request.method === "POST";
    const tagPath = request.tagPath ?? request.path;
    // Actions change no resource that a tag could stand for, and iDRAC answers 412 to any.
    const after = isAction ? "without" : behaviour.afterPreconditionFailed;
    const ladder = new TagLadder(service, after, this.#log);
    let etag = isAction || behaviour.ifMatch === "on-demand" ? undefined : request.etag;
    if (!isAction && behaviour.ifMatch === "first" && etag === undefined) {
      etag = (await service.find(tagPath, Tagged, signal))?.etag;
    }
    this.#system.markChanged();
    for (;;) {
      for (const target of request.targets ?? []) await this.#check(target, signal);
      const answer = await service.send(httpRequest(request, etag), signal);
      if (answer.status < 300) {
        if (!isAction && ladder.learned) this.#system.learn(ladder.learned);
        if (!request.untilBoot) {
          const end = await awaitTask(service, answer, { clock, body: request.body }, signal);
          if (end !== "ended" && request.needsTask) throw resultUnknown(request, end);
        }
        throwDenial(answer, request);
        for (const target of request.rechecks ? (request.targets ?? []) : []) {
          await this.#recheck(target, signal);
        }
        return answer;
      }
      const next = await ladder.next(tagPath, etag, answer, signal);
      if (!next) return answer;
      etag = next.etag;
    }
  }
}

const AnyResource = z.record(z.string(), z.unknown());

function uncertain(thrown: unknown): BmcError {
  const error = BmcError.from(thrown);
  return new BmcError(error.class, error.message, { cause: error, uncertain: true });
}

function resultUnknown({ method, path }: WriteRequest, end: Exclude<TaskEnd, "ended">): BmcError {
  const why = { missing: "the BMC does not have its task", unfinished: "its task has not ended" }[end];
  const message = `${method} ${path} was accepted, but ${why}: the result is not known`;
  return new BmcError("verify", message, { uncertain: true });
}

/** An answer that accepts the write and denies it, or a part of it, in its body: only the state shows what the BMC did. */
export function throwDenial(
  answer: HttpAnswer,
  request: Pick<WriteRequest, "method" | "path" | "body">,
): void {
  const denial = readDenial(answer, (text) => redact(text, request.body));
  if (denial === "") return;
  const message = `${describe(request)} answered ${answer.status}: ${denial}`;
  throw new BmcError("verify", message, { uncertain: true });
}

function httpRequest({ method, path, body, maxBytes }: WriteRequest, etag: string | undefined): HttpRequest {
  return {
    method,
    path,
    ...defined({ body, maxBytes, headers: etag === undefined ? undefined : { "if-match": etag } }),
  };
}
