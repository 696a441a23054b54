import type { Clock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import type { Action } from "../action/action.ts";
import type { Observer, WorkerFacts } from "../action/observer.ts";
import type { Waking } from "../action/waking.ts";
import type { Executor } from "../execution/executor.ts";
import type { StopSignals } from "../execution/stop-signals.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { ActionSource, Transport } from "../source/source.ts";
import { runLane } from "./lane.ts";
import { ServerPace } from "./server-pace.ts";

export interface WorkerOptions {
  /** The agent IDs to begin with; called once `ready` has resolved. */
  readonly agentIds: () => readonly string[];
  readonly transport: Pick<Transport, "close">;
  readonly sourceOf: (agentId: string) => ActionSource;
  readonly wakingOf: (agentId: string) => Waking | undefined;
  readonly runtime: Pick<Runtime, "detach" | "close">;
  readonly executor: Pick<Executor, "execute" | "recover" | "reported">;
  readonly clock: Clock;
  readonly log: Logger;
  readonly maxBackoffMs: number;
  readonly observer: Pick<Observer, "lane" | "polling" | "poll">;
  readonly facts: WorkerFacts;
  /** How long running actions may take to end by themselves once the worker is stopping. */
  readonly shutdownGraceMs: number;
  /** They run beside the lanes until the worker stops, and never reject. */
  readonly backgroundTasks: readonly ((lanes: LaneControl, stop: AbortSignal) => Promise<void>)[];
  /** Resolves when the lanes may start: the background tasks have loaded their data, or timed out. Never rejects. */
  readonly ready: (stop: AbortSignal) => Promise<void>;
  /** Releases what else the worker holds. */
  readonly close: () => Promise<void>;
}

/** How the worker ended: after all actions, with cancelled actions, or with actions that keep running without it. */
export type WorkerEnd = "drained" | "cancelled" | "detached";

export interface LaneChanges {
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

/** What background tasks may change. */
export interface LaneControl {
  /** From now on polls for these agent IDs. A removed lane ends after its action. */
  setAgentIds(agentIds: readonly string[]): LaneChanges;
  /** Resolves when no poll is open for an agent ID that was removed; its action may still run. */
  removedPollsEnded(): Promise<void>;
}

interface Lane {
  readonly stop: AbortController;
  readonly ended: Promise<void>;
}

/** One lane per agent ID, from `run` to `stop`. */
export class Worker implements LaneControl {
  readonly #options: WorkerOptions;
  readonly #stop = new AbortController();
  readonly #cancel = new AbortController();
  readonly #ended = new AbortController();
  readonly #lanes = new Map<string, Lane>();
  readonly #serverPace: ServerPace;
  #agentIds: ReadonlySet<string> = new Set();
  /** By agent ID, the number of open polls. */
  readonly #polls = new Map<string, number>();
  /** Called whenever a poll ends. */
  readonly #onPollEnded = new Set<() => void>();
  #running = 0;

  constructor(options: WorkerOptions) {
    this.#options = options;
    this.#serverPace = new ServerPace(options.clock);
  }

  get facts(): WorkerFacts {
    return this.#options.facts;
  }

  /** Resolves when all lanes have ended and everything is released. */
  async run(): Promise<WorkerEnd> {
    const { agentIds, backgroundTasks, close, executor, ready, runtime, transport } = this.#options;
    try {
      const tasks = backgroundTasks.map((task) => task(this, this.#stop.signal));
      await ready(this.#stop.signal);
      // Before the lanes: actions of an earlier worker get their machines first.
      const recovered = executor.recover(this.#signals);
      this.setAgentIds(agentIds());
      await Promise.all([recovered, this.#untilStopped(), ...tasks]);
      await Promise.all([...this.#lanes.values()].map(({ ended }) => ended));
      await executor.reported();
    } finally {
      this.#ended.abort();
      await runtime.close();
      await transport.close();
      await close();
    }
    if (!this.#cancel.signal.aborted) return "drained";
    return runtime.detach ? "detached" : "cancelled";
  }

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

  async removedPollsEnded(): Promise<void> {
    const isPolling = () => [...this.#polls.keys()].some((agentId) => !this.#isPolled(agentId));
    while (isPolling()) {
      const ended = Promise.withResolvers<void>();
      this.#onPollEnded.add(ended.resolve);
      await ended.promise;
      this.#onPollEnded.delete(ended.resolve);
    }
  }

  /** Starts no more actions; those that run may end by themselves, within the grace period. */
  stop(): void {
    if (this.#stop.signal.aborted) return;
    const { clock, log, shutdownGraceMs } = this.#options;
    log.info({ running: this.#running, graceMs: shutdownGraceMs }, "stopping: draining running actions");
    const reason = new Error("the worker is stopping");
    this.#stop.abort(reason);
    for (const lane of this.#lanes.values()) lane.stop.abort(reason);
    void clock.sleep(shutdownGraceMs, AbortSignal.any([this.#cancel.signal, this.#ended.signal])).then(
      () => this.cancel(),
      () => undefined,
    );
  }

  /** Cancels the running actions, too, or detaches from them if another worker can adopt them. */
  cancel(): void {
    if (this.#cancel.signal.aborted) return;
    this.stop();
    const { log, runtime } = this.#options;
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
    const { sourceOf, wakingOf, clock, log, maxBackoffMs, observer } = this.#options;
    const stop = new AbortController();
    const ended = runLane(
      {
        agentId,
        source: this.#counted(sourceOf(agentId)),
        execute: (action) => this.#execute(action),
        clock,
        log,
        maxBackoffMs,
        observer,
        waking: wakingOf(agentId),
        serverPace: this.#serverPace,
      },
      stop.signal,
    ).finally(() => {
      this.#lanes.delete(agentId);
      // It may have been removed and added again while its last action ran.
      if (this.#agentIds.has(agentId)) this.#ensureLane(agentId);
    });
    this.#lanes.set(agentId, { stop, ended });
  }

  #isPolled(agentId: string): boolean {
    return this.#agentIds.has(agentId) && !this.#stop.signal.aborted;
  }

  /** Counts the open polls. */
  #counted(source: ActionSource): ActionSource {
    const count = (agentId: string, by: 1 | -1) => {
      const open = (this.#polls.get(agentId) ?? 0) + by;
      if (open > 0) this.#polls.set(agentId, open);
      else this.#polls.delete(agentId);
    };
    return {
      servesSeveral: () => source.servesSeveral(),
      next: async (agentId, signal, inFlight) => {
        count(agentId, 1);
        try {
          return await source.next(agentId, signal, inFlight);
        } finally {
          count(agentId, -1);
          for (const onEnded of this.#onPollEnded) onEnded();
        }
      },
    };
  }

  /** Resolves to false if it was not run. */
  async #execute(action: Action): Promise<boolean> {
    this.#running += 1;
    try {
      return (await this.#options.executor.execute(action, this.#signals)) !== undefined;
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
