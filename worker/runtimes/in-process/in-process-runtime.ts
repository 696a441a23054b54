import { serialiseConnection } from "../../../shared/contract/connection.ts";
import type { ErrorClass } from "../../../shared/contract/error-class.ts";
import { parseImageReference } from "../../../shared/contract/image-reference.ts";
import { waitUntilDeadline } from "../../../shared/deadline.ts";
import { defined } from "../../../shared/defined.ts";
import type { Logger } from "../../../shared/logger.ts";
import { textOf } from "../../../shared/text-of.ts";
import { TimeoutReached, withTimeout } from "../../../shared/timeout.ts";
import { UncaughtErrors } from "../../../shared/uncaught-errors.ts";
import { fieldsOf } from "../../core/action/action.ts";
import { concludeOutcome, failedAction, nothingToRemove } from "../../core/ports/outcome.ts";
import {
  type Adoption,
  type EndedAction,
  type LaunchRequest,
  NotLaunched,
  type ReturnedAction,
  type Runtime,
} from "../../core/ports/runtime.ts";
import {
  type ActionLibrary,
  type InProcessAction,
  type InProcessEnd,
  unknownImage,
} from "../action-library.ts";
import type { Refusal } from "../host-refusal.ts";
import { LogStream } from "../log-stream.ts";

export interface InProcessRuntimeOptions {
  readonly actions: ActionLibrary;
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
  readonly #uncaughtErrors = new UncaughtErrors();
  readonly #closing = new AbortController();
  readonly #running = new Set<Promise<unknown>>();
  readonly #unstopped = new Map<string, string>();

  constructor(options: InProcessRuntimeOptions) {
    this.#options = { stopGraceMs: 10_000, ...options };
  }

  async run(request: LaunchRequest, signal: AbortSignal): Promise<EndedAction> {
    const startedAt = new Date();
    const failed = (errorClass: ErrorClass, reason: string) => failedAction(errorClass, reason, startedAt);
    const { action } = request;
    try {
      const refusal = await this.#options.refuse(action);
      if (refusal) return failed(refusal.class, refusal.reason);
      const found = await this.#find(action.image);
      if (!found) {
        return failed("usage", unknownImage("in-process", action.image, this.#options.actions.names()));
      }
      const busy = this.#unstopped.get(bmcOf(request));
      if (busy !== undefined) return failed("busy", `${busy}, and may still be running there`);
      const stop = AbortSignal.any([signal, this.#closing.signal]);
      if (stop.aborted) return failed("cancelled", "cancelled before it started");
      return await this.#keepRunning(this.#run(found, request, startedAt, stop));
    } catch (thrown) {
      if (thrown instanceof NotLaunched) throw thrown;
      return failed("internal", `could not run the action: ${textOf(thrown)}`);
    }
  }

  /** Actions died with the earlier worker. Without a recorded launch, they did not run. */
  async adopt({ action, handle, damaged }: ReturnedAction): Promise<Adoption> {
    if (!handle && !damaged) return { kind: "not-launched" };
    const idempotent = (await this.#find(action.image))?.idempotent ?? false;
    return { kind: "lost", reason: "the worker that ran it inside itself was restarted", idempotent };
  }

  async sweep(): Promise<number> {
    return 0;
  }

  async check(): Promise<string> {
    return `Node ${process.versions.node}`;
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error("the runtime is closing"));
    await Promise.allSettled(this.#running);
    this.#uncaughtErrors.close();
  }

  #keepRunning<T>(work: Promise<T>): Promise<T> {
    const running = work.finally(() => this.#running.delete(running));
    this.#running.add(running);
    return running;
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
    const stopAction = new AbortController();
    const uncaught = Promise.withResolvers<string>();
    const ended = this.#start(found, request, stopAction.signal, uncaught.resolve);
    let uncaughtError: string | undefined;
    const stopReason = await waitUntilDeadline(timeoutMs, stop, async () => {
      uncaughtError = await Promise.race([ended.then(() => undefined), uncaught.promise]);
    });
    const isToStop = stopReason !== undefined || uncaughtError !== undefined;
    if (isToStop) stopAction.abort(new Error(`stopped: ${stopReason ?? uncaughtError}`));
    const end = isToStop ? await within(ended, this.#options.stopGraceMs) : await ended;
    if (end === undefined) this.#lockBmc(ended, request);
    if (uncaughtError !== undefined) {
      return failedAction("internal", `uncaught error: ${uncaughtError}`, startedAt);
    }
    const outcome = concludeOutcome({
      ...end,
      stopReason,
      lastLines: end === undefined ? ["it did not stop when asked to"] : [],
      timeoutMs,
      startedAt,
      stoppedAt: new Date(),
    });
    return nothingToRemove(outcome);
  }

  /** Resolves to the action's end. Uncaught errors are logged and passed to `onUncaught`. */
  #start(
    found: InProcessAction,
    { action, connection, environment, provider, ...output }: LaunchRequest,
    signal: AbortSignal,
    onUncaught: (error: string) => void,
  ): Promise<InProcessEnd> {
    const onUncaughtError = (thrown: unknown) => {
      const error = textOf(thrown);
      const fields = { ...fieldsOf(action, connection?.machine), error };
      this.#options.log.error(fields, "uncaught error in action");
      onUncaught(error);
    };
    const log = new LogStream(output);
    return this.#uncaughtErrors.run(onUncaughtError, async () => {
      const ended = found.run({
        env: {
          ...action.environment,
          ...environment,
          ...defined({ BMC_CONNECTION_FILE: connection && "-" }),
        },
        argv: action.command,
        stdin: connection ? serialiseConnection(connection) : "",
        provider,
        onLog: ({ stream, line }) => log.writeLine(stream, line),
        signal,
        stoppedBy: () => "SIGTERM",
      });
      return ended.finally(() => log.end());
    });
  }

  #lockBmc(ended: Promise<unknown>, request: LaunchRequest): void {
    const { action, connection } = request;
    const bmc = bmcOf(request);
    const fields = fieldsOf(action, connection?.machine);
    this.#options.log.error(fields, "action did not stop, its BMC stays locked");
    this.#unstopped.set(bmc, `the action ${action.name} of ${action.workflowId} did not stop when asked to`);
    const forget = () => this.#unstopped.delete(bmc);
    ended.then(forget, forget);
  }
}

/** Identifies the BMC. This is enough, because the worker starts only one action at a time there. */
function bmcOf({ action, connection }: LaunchRequest): string {
  return connection?.machine ?? connection?.host ?? action.environment["BMC_HOST"] ?? action.workflowId;
}

async function within<T>(work: Promise<T>, ms: number): Promise<T | undefined> {
  try {
    return await withTimeout(ms, new AbortController().signal, () => work);
  } catch (thrown) {
    if (thrown instanceof TimeoutReached) return undefined;
    throw thrown;
  }
}
