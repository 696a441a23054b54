import type { Clock } from "../shared/clock.ts";
import type { Logger } from "../shared/logger.ts";
import type { Executor } from "./executor.ts";
import { runLane } from "./lane.ts";
import type { Runtime } from "./runtime/runtime.ts";
import type { Transport } from "./transport/transport.ts";

export interface WorkerParts {
  readonly agentIds: readonly string[];
  readonly transport: Transport;
  readonly runtime: Runtime;
  readonly executor: Executor;
  readonly clock: Clock;
  readonly log: Logger;
  readonly maxBackoffMs: number;
  /** How long running actions may take to end by themselves once the worker is told to stop. */
  readonly shutdownGraceMs: number;
}

/** How the worker ended: by itself with everything done, or with actions cut short. */
export type WorkerEnd = "drained" | "cancelled";

/** A standing worker: one lane an agent ID, from `run` until it is told to stop. */
export class Worker {
  readonly #parts: WorkerParts;
  readonly #stop = new AbortController();
  readonly #cancel = new AbortController();
  readonly #ended = new AbortController();
  #running = 0;

  constructor(parts: WorkerParts) {
    this.#parts = parts;
  }

  /** Resolves when all lanes have ended and everything is released. */
  async run(): Promise<WorkerEnd> {
    const { agentIds, transport, runtime, clock, log, maxBackoffMs } = this.#parts;
    try {
      await Promise.all(
        agentIds.map((agentId) =>
          runLane(
            {
              agentId,
              source: transport,
              execute: (action) => this.#execute(action),
              clock,
              log,
              maxBackoffMs,
            },
            this.#stop.signal,
          ),
        ),
      );
    } finally {
      this.#ended.abort();
      await runtime.close();
      await transport.close();
    }
    return this.#cancel.signal.aborted ? "cancelled" : "drained";
  }

  /** Takes no more actions; those that run may end by themselves, for a time. */
  stop(): void {
    if (this.#stop.signal.aborted) return;
    const { clock, log, shutdownGraceMs } = this.#parts;
    log.info(
      { running: this.#running, graceMs: shutdownGraceMs },
      "stopping: no new actions, waiting for running ones",
    );
    this.#stop.abort(new Error("the worker is stopping"));
    void clock.sleep(shutdownGraceMs, AbortSignal.any([this.#cancel.signal, this.#ended.signal])).then(
      () => this.cancel(),
      () => undefined,
    );
  }

  /** Stops the actions that run, too. */
  cancel(): void {
    if (this.#cancel.signal.aborted) return;
    this.stop();
    if (this.#running > 0)
      this.#parts.log.warn({ running: this.#running }, "cancelling the actions that run");
    this.#cancel.abort(new Error("the worker was told to stop at once"));
  }

  async #execute(action: Parameters<Executor["execute"]>[0]): Promise<void> {
    this.#running += 1;
    try {
      await this.#parts.executor.execute(action, { stop: this.#stop.signal, cancel: this.#cancel.signal });
    } finally {
      this.#running -= 1;
    }
  }
}
