import { serialiseConnection } from "../../../shared/contract/connection.ts";
import type { ErrorClass } from "../../../shared/contract/error-class.ts";
import { waitUntilDeadline } from "../../../shared/deadline.ts";
import { defined } from "../../../shared/defined.ts";
import type { Logger } from "../../../shared/logger.ts";
import { textOf } from "../../../shared/text-of.ts";
import { fieldsOf } from "../../action/action-status.ts";
import { parseImageReference } from "../../action/image-reference.ts";
import type { ActionLibrary, InProcessAction, InProcessEnd } from "../action-library.ts";
import type { Refusal } from "../host-refusal.ts";
import { LogStream } from "../log-stream.ts";
import { concludeOutcome, failedLaunch, nothingToRemove } from "../outcome.ts";
import {
  type Adoption,
  type EndedAction,
  LaunchNotRecorded,
  type LaunchRequest,
  type ReturnedAction,
  type Runtime,
} from "../runtime.ts";
import { UncaughtErrors } from "./uncaught-errors.ts";

export interface InProcessRuntimeOptions {
  readonly actions: ActionLibrary;
  /** Why an action is rejected; undefined if it is not. */
  readonly refuse: (action: LaunchRequest["action"]) => Promise<Refusal | undefined>;
  readonly log: Logger;
  /** How long an action may clean up after it is aborted. */
  readonly stopGraceMs?: number;
}

/**
 * Runs this project's actions inside the worker, for fleets where a process per action is too expensive. Each run has
 * its own environment, connection, log and signal; an uncaught error ends the run and not the worker. An action cannot
 * be killed: one that does not stop counts as timed out, and its BMC stays locked while it may still run. Actions end
 * with the worker.
 */
export class InProcessRuntime implements Runtime {
  readonly name = "in-process";
  readonly #options: InProcessRuntimeOptions & { readonly stopGraceMs: number };
  readonly #strayErrors = new UncaughtErrors();
  readonly #closing = new AbortController();
  readonly #running = new Set<Promise<unknown>>();
  /** Actions that did not stop, by BMC. */
  readonly #leftBehind = new Map<string, string>();

  constructor(options: InProcessRuntimeOptions) {
    this.#options = { stopGraceMs: 10_000, ...options };
  }

  async run(request: LaunchRequest, signal: AbortSignal): Promise<EndedAction> {
    const startedAt = new Date();
    const failed = (errorClass: ErrorClass, reason: string) =>
      nothingToRemove(failedLaunch(errorClass, reason, startedAt, new Date()));
    const { action } = request;
    try {
      const refusal = await this.#options.refuse(action);
      if (refusal) return failed(refusal.class, refusal.reason);
      const found = await this.#find(action.image);
      if (!found) {
        const names = this.#options.actions.names().toSorted().join(", ");
        return failed(
          "usage",
          `the in-process runtime has no action for the image ${action.image}; it knows ${names}`,
        );
      }
      const busy = this.#leftBehind.get(bmcOf(request));
      if (busy !== undefined) return failed("busy", `${busy}, and may still be at work there`);
      const stop = AbortSignal.any([signal, this.#closing.signal]);
      if (stop.aborted) return failed("cancelled", "cancelled before it started");
      return await this.#keepRunning(this.#run(found, request, startedAt, stop));
    } catch (thrown) {
      if (thrown instanceof LaunchNotRecorded) throw thrown;
      return failed("internal", `could not run the action: ${textOf(thrown)}`);
    }
  }

  /** Actions died with the earlier worker; without a recorded launch they did not run. */
  async adopt({ action, handle, damaged }: ReturnedAction): Promise<Adoption> {
    if (!handle && !damaged) return { kind: "not-launched" };
    const idempotent = (await this.#find(action.image))?.idempotent ?? false;
    return { kind: "lost", reason: "the worker that ran it inside itself was restarted", idempotent };
  }

  /** No action outlives the worker. */
  async sweep(): Promise<number> {
    return 0;
  }

  async check(): Promise<string> {
    return `Node ${process.versions.node}`;
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error("the runtime is closing"));
    await Promise.allSettled(this.#running);
    this.#strayErrors.close();
  }

  async #keepRunning<T>(work: Promise<T>): Promise<T> {
    this.#running.add(work);
    try {
      return await work;
    } finally {
      this.#running.delete(work);
    }
  }

  #find(image: string): Promise<InProcessAction | undefined> {
    const name = parseImageReference(image)?.name;
    return name === undefined ? Promise.resolve(undefined) : this.#options.actions.find(name);
  }

  async #run(
    found: InProcessAction,
    request: LaunchRequest,
    startedAt: Date,
    stop: AbortSignal,
  ): Promise<EndedAction> {
    const { timeoutMs, onLaunch } = request;
    await onLaunch?.({});
    const told = new AbortController();
    const escaped = Promise.withResolvers<string>();
    const ended = this.#start(found, request, told.signal, escaped.resolve);
    let stray: string | undefined;
    const stopReason = await waitUntilDeadline(timeoutMs, stop, async () => {
      stray = await Promise.race([ended.then(() => undefined), escaped.promise]);
    });
    const isToStop = stopReason !== undefined || stray !== undefined;
    if (isToStop) told.abort(new Error(`stopped: ${stopReason ?? stray}`));
    const end = isToStop ? await within(ended, this.#options.stopGraceMs) : await ended;
    if (end === undefined) this.#leave(ended, request);
    if (stray !== undefined) {
      return nothingToRemove(failedLaunch("internal", `uncaught error: ${stray}`, startedAt, new Date()));
    }
    const outcome = concludeOutcome({
      ...end,
      ...defined({ stopReason }),
      lastLines: end === undefined ? ["it did not stop when asked to"] : [],
      timeoutMs,
      startedAt,
      stoppedAt: new Date(),
    });
    return nothingToRemove(outcome);
  }

  /** Resolves to the action's end. Uncaught errors are logged and passed to `onEscape`. */
  #start(
    found: InProcessAction,
    { action, connection, environment, ...output }: LaunchRequest,
    signal: AbortSignal,
    onEscape: (error: string) => void,
  ): Promise<InProcessEnd> {
    const onStray = (thrown: unknown) => {
      const error = textOf(thrown);
      this.#options.log.error(
        { ...fieldsOf(action, connection?.machine), error },
        "uncaught error in action",
      );
      onEscape(error);
    };
    const log = new LogStream(output);
    return this.#strayErrors.run(onStray, async () => {
      const ended = found.run({
        env: {
          ...action.environment,
          ...environment,
          ...defined({ BMC_CONNECTION_FILE: connection && "-" }),
        },
        argv: action.command,
        stdin: connection ? serialiseConnection(connection) : "",
        onLog: ({ stream, line }) => log.writeLine(stream, line),
        signal,
        stoppedBy: "SIGTERM",
      });
      return ended.finally(() => log.end());
    });
  }

  #leave(ended: Promise<unknown>, request: LaunchRequest): void {
    const { action, connection } = request;
    const bmc = bmcOf(request);
    this.#options.log.error(
      fieldsOf(action, connection?.machine),
      "action did not stop, its BMC stays locked",
    );
    this.#leftBehind.set(bmc, `the action ${action.name} of ${action.workflowId} did not stop when asked to`);
    const forget = () => this.#leftBehind.delete(bmc);
    ended.then(forget, forget);
  }
}

/** Identifies the BMC well enough, because the worker lets only one action at a time start there. */
function bmcOf({ action, connection }: LaunchRequest): string {
  return connection?.machine ?? connection?.host ?? action.environment["BMC_HOST"] ?? action.workflowId;
}

async function within<T>(work: Promise<T>, ms: number): Promise<T | undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => resolve(undefined), ms);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}
