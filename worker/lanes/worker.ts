import type { Clock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import type { Action } from "../action/action.ts";
import type { Observer, WorkerFacts } from "../action/observer.ts";
import type { Waking } from "../action/waking.ts";
import type { Executor, StopSignals } from "../execution/executor.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { ActionSource, Transport } from "../source/source.ts";
import { runLane } from "./lane.ts";
import { PollPace } from "./poll-pace.ts";

export interface WorkerParts {
  /** Asked once what the worker begins with is there. */
  readonly agentIds: () => readonly string[];
  readonly transport: Transport;
  /** Where an agent ID's actions come from, unless from the transport. */
  readonly sourceOf?: (agentId: string) => ActionSource | undefined;
  readonly runtime: Runtime;
  readonly executor: Pick<Executor, "execute" | "recover" | "reported">;
  readonly clock: Clock;
  readonly log: Logger;
  readonly maxBackoffMs: number;
  readonly observer: Pick<Observer, "lane" | "asking" | "poll">;
  readonly facts: WorkerFacts;
  /** What tells an agent ID's lane when to ask. */
  readonly wakingOf?: (agentId: string) => Waking | undefined;
  /** How long running actions may take to end by themselves once the worker is told to stop. */
  readonly shutdownGraceMs: number;
  /** What goes on beside the lanes until the worker stops; they never reject. */
  readonly companions?: readonly ((stop: AbortSignal) => Promise<void>)[];
  /** Resolves when companions have what the lanes begin with, or it is not waited for any longer. Never rejects. */
  readonly ready?: (stop: AbortSignal) => Promise<void>;
  /** Releases what else the worker holds. */
  readonly close?: () => Promise<void>;
}

/** How the worker ended: with everything done, with actions cut short, or with actions that run on without it. */
export type WorkerEnd = "drained" | "cancelled" | "detached";

/** Agent IDs that are polled with since, or no longer. */
export interface LaneChanges {
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

interface Lane {
  readonly stop: AbortController;
  readonly ended: Promise<void>;
}

/** A standing worker: one lane an agent ID, from `run` until it is told to stop. */
export class Worker {
  readonly #parts: WorkerParts;
  readonly #stop = new AbortController();
  readonly #cancel = new AbortController();
  readonly #ended = new AbortController();
  readonly #lanes = new Map<string, Lane>();
  readonly #pace: PollPace;
  #agentIds: ReadonlySet<string> = new Set();
  /** By agent ID, how many questions for an action are open. */
  readonly #asking = new Map<string, number>();
  /** Called whenever one is answered. */
  readonly #onAnswered = new Set<() => void>();
  #running = 0;

  constructor(parts: WorkerParts) {
    this.#parts = parts;
    this.#pace = new PollPace(parts.clock);
  }

  get facts(): WorkerFacts {
    return this.#parts.facts;
  }

  /** Resolves when all lanes have ended and everything is released. */
  async run(): Promise<WorkerEnd> {
    const { agentIds, executor, transport, runtime, companions = [], ready } = this.#parts;
    try {
      const beside = companions.map((companion) => companion(this.#stop.signal));
      await ready?.(this.#stop.signal);
      // Before the lanes: what is still to be done at a machine comes before anything new there.
      const recovered = executor.recover(this.#signals);
      this.setAgentIds(agentIds());
      await Promise.all([recovered, this.#untilStopped(), ...beside]);
      await Promise.all([...this.#lanes.values()].map(({ ended }) => ended));
      await executor.reported();
    } finally {
      this.#ended.abort();
      await runtime.close();
      await transport.close();
      await this.#parts.close?.();
    }
    if (!this.#cancel.signal.aborted) return "drained";
    return runtime.detach ? "detached" : "cancelled";
  }

  /** Polls as these from now on: lanes come and go, each after the action that it is at. Gives what has changed. */
  setAgentIds(agentIds: readonly string[]): LaneChanges {
    if (this.#stop.signal.aborted) return { added: [], removed: [] };
    const before = this.#agentIds;
    this.#agentIds = new Set(agentIds);
    const added = [...this.#agentIds].filter((agentId) => !before.has(agentId));
    const removed = [...before].filter((agentId) => !this.#agentIds.has(agentId));
    const reason = new Error("another worker has the agent ID");
    for (const agentId of removed) this.#lanes.get(agentId)?.stop.abort(reason);
    for (const agentId of added) this.#ensureLane(agentId);
    return { added, removed };
  }

  /** Resolves when nothing is asked for any more as an agent ID that is not this worker's; what runs may go on. */
  async quiet(): Promise<void> {
    const isLoud = () => [...this.#asking.keys()].some((agentId) => !this.#isPolled(agentId));
    while (isLoud()) {
      const answered = Promise.withResolvers<void>();
      this.#onAnswered.add(answered.resolve);
      await answered.promise;
      this.#onAnswered.delete(answered.resolve);
    }
  }

  /** Takes no more actions; those that run may end by themselves, for a time. */
  stop(): void {
    if (this.#stop.signal.aborted) return;
    const { clock, log, shutdownGraceMs } = this.#parts;
    log.info({ running: this.#running, graceMs: shutdownGraceMs }, "stopping: draining running actions");
    const reason = new Error("the worker is stopping");
    this.#stop.abort(reason);
    for (const lane of this.#lanes.values()) lane.stop.abort(reason);
    void clock.sleep(shutdownGraceMs, AbortSignal.any([this.#cancel.signal, this.#ended.signal])).then(
      () => this.cancel(),
      () => undefined,
    );
  }

  /** Stops the actions that run, too, or lets go of them where another worker can take them over. */
  cancel(): void {
    if (this.#cancel.signal.aborted) return;
    this.stop();
    const { log, runtime } = this.#parts;
    const facts = { running: this.#running };
    if (runtime.detach) {
      if (this.#running > 0) log.info(facts, "detaching from running actions");
      runtime.detach();
    } else if (this.#running > 0) log.warn(facts, "cancelling running actions");
    this.#cancel.abort(new Error("the worker was told to stop immediately"));
  }

  get #signals(): StopSignals {
    return { stop: this.#stop.signal, cancel: this.#cancel.signal };
  }

  #ensureLane(agentId: string): void {
    if (this.#lanes.has(agentId) || this.#stop.signal.aborted) return;
    const { transport, sourceOf, wakingOf, clock, log, maxBackoffMs, observer } = this.#parts;
    const waking = wakingOf?.(agentId);
    const stop = new AbortController();
    const ended = runLane(
      {
        agentId,
        source: this.#counted(sourceOf?.(agentId) ?? transport),
        execute: (action) => this.#execute(action),
        clock,
        log,
        maxBackoffMs,
        observer,
        pace: this.#pace,
        ...(waking && { waking }),
      },
      stop.signal,
    ).finally(() => {
      this.#lanes.delete(agentId);
      // It may have been taken away and given back while its last action ran.
      if (this.#agentIds.has(agentId)) this.#ensureLane(agentId);
    });
    this.#lanes.set(agentId, { stop, ended });
  }

  #isPolled(agentId: string): boolean {
    return this.#agentIds.has(agentId) && !this.#stop.signal.aborted;
  }

  /** Keeps account of the questions that are open. */
  #counted(source: ActionSource): ActionSource {
    const count = (agentId: string, by: 1 | -1) => {
      const open = (this.#asking.get(agentId) ?? 0) + by;
      if (open > 0) this.#asking.set(agentId, open);
      else this.#asking.delete(agentId);
    };
    return {
      servesSeveral: () => source.servesSeveral(),
      next: async (agentId, signal, inFlight) => {
        count(agentId, 1);
        try {
          return await source.next(agentId, signal, inFlight);
        } finally {
          count(agentId, -1);
          for (const tell of this.#onAnswered) tell();
        }
      },
    };
  }

  /** Resolves to whether it was run. */
  async #execute(action: Action): Promise<boolean> {
    this.#running += 1;
    try {
      return (await this.#parts.executor.execute(action, this.#signals)) !== undefined;
    } finally {
      this.#running -= 1;
    }
  }

  #untilStopped(): Promise<void> {
    const { signal } = this.#stop;
    return new Promise((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener("abort", () => resolve(), { once: true });
    });
  }
}
