import { serialiseConnection } from "../../../shared/contract/connection.ts";
import type { StopSignal } from "../../../shared/contract/exit-code.ts";
import type { ActionResult } from "../../../shared/contract/result.ts";
import { parseImageReference } from "../../image-reference.ts";
import { waitUntilDeadline } from "../deadline.ts";
import { concludeOutcome, failedLaunch, nothingLeft } from "../outcome.ts";
import type { Refusal } from "../process/refusal.ts";
import type { Adoption, EndedAction, LaunchRequest, LeftAction, LogLine, Runtime } from "../runtime.ts";

/** What a process would be given, without the process. */
export interface InProcessRequest {
  /** The whole environment: nothing of the worker's own is seen. */
  readonly env: Readonly<Record<string, string>>;
  readonly argv: readonly string[];
  readonly stdin: string;
  readonly onLog: (line: LogLine) => void;
  readonly signal: AbortSignal;
  /** What the cancelled action says ended it. */
  readonly stoppedBy: StopSignal;
}

/** One of this project's own actions, as whoever puts the program together hands it over. */
export interface InProcessAction {
  /** Whether running it a second time leaves the machine as after the first. */
  readonly idempotent: boolean;
  /** Resolves to the end of the action, as its process would have told it; never rejects. */
  run(request: InProcessRequest): Promise<{ readonly exitCode: number; readonly result: ActionResult }>;
}

export interface ActionLibrary {
  names(): readonly string[];
  find(name: string): Promise<InProcessAction | undefined>;
}

export interface InProcessRuntimeOptions {
  readonly actions: ActionLibrary;
  /** Why a template's environment, arguments and mounts are refused; undefined when they are not. */
  readonly refuse: (action: LaunchRequest["action"]) => Promise<Refusal | undefined>;
  /** How long an action may clean up after it was told to stop. */
  readonly stopGraceMs?: number;
}

/**
 * Runs this project's actions inside the worker, for fleets where a process each is what limits it. Each run has
 * its own connection, log and signal, and shares nothing with another; what it does not have is a process to be
 * killed, so an action that does not end when told to is left behind and said to be so. An action dies with its worker.
 */
export class InProcessRuntime implements Runtime {
  readonly name = "in-process";
  readonly #options: InProcessRuntimeOptions & { readonly stopGraceMs: number };
  readonly #closing = new AbortController();
  readonly #running = new Set<Promise<unknown>>();

  constructor(options: InProcessRuntimeOptions) {
    this.#options = { stopGraceMs: 10_000, ...options };
  }

  async run(request: LaunchRequest, signal: AbortSignal): Promise<EndedAction> {
    const startedAt = new Date();
    const refused = (errorClass: Refusal["class"] | "cancelled", reason: string) =>
      nothingLeft(failedLaunch(errorClass, reason, startedAt, new Date()));
    const { action } = request;
    const refusal = await this.#options.refuse(action);
    if (refusal) return refused(refusal.class, refusal.reason);
    const found = await this.#find(action.image);
    if (!found) {
      const names = this.#options.actions.names().join(", ");
      return refused(
        "usage",
        `the in-process runtime has no action for the image ${action.image}; it knows ${names}`,
      );
    }
    const stop = AbortSignal.any([signal, this.#closing.signal]);
    if (stop.aborted) return refused("cancelled", "cancelled before it started");
    const work = this.#run(found, request, startedAt, stop);
    this.#running.add(work);
    try {
      return await work;
    } finally {
      this.#running.delete(work);
    }
  }

  /** What an earlier worker ran died with it; what is not on record as launched did not run. */
  async adopt({ action, handle }: LeftAction): Promise<Adoption> {
    if (!handle) return { kind: "not-launched" };
    const idempotent = (await this.#find(action.image))?.idempotent ?? false;
    return { kind: "lost", reason: "the worker that ran it inside itself was restarted", idempotent };
  }

  /** Nothing outlives the worker. */
  async sweep(): Promise<number> {
    return 0;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.allSettled(this.#running);
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
    const { action, connection, timeoutMs, onLog, onLaunch } = request;
    await onLaunch?.({});
    const told = new AbortController();
    const ended = found.run({
      env: { ...action.environment, ...(connection ? { BMC_CONNECTION_FILE: "-" } : {}) },
      argv: action.command,
      stdin: connection ? serialiseConnection(connection) : "",
      onLog,
      signal: told.signal,
      stoppedBy: "SIGTERM",
    });
    const stopReason = await waitUntilDeadline(timeoutMs, stop, () => ended);
    if (stopReason) told.abort(new Error(`stopped: ${stopReason}`));
    const end = stopReason ? await within(ended, this.#options.stopGraceMs) : await ended;
    const outcome = concludeOutcome({
      ...(end === undefined ? {} : { exitCode: end.exitCode, result: end.result }),
      ...(stopReason === undefined ? {} : { stopReason }),
      lastLines: end === undefined ? ["it did not end when it was told to"] : [],
      timeoutMs,
      startedAt,
      stoppedAt: new Date(),
    });
    return nothingLeft(outcome);
  }
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
