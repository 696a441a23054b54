import type { LogFields } from "../../../shared/logger.ts";
import type { Action } from "../action/action.ts";
import type { Runtime } from "../ports/runtime.ts";
import type { Source } from "../ports/source.ts";
import type { Executor } from "../run/executor.ts";
import type { StopSignals } from "../run/services.ts";
import { runLane } from "./lane.ts";
import type { LaneOptions } from "./lane-options.ts";
import { LaunchGate, type LaunchGateOptions } from "./launch-gate.ts";
import { ServerLoad } from "./server-load.ts";

/** Leader election, for a worker that works only while it leads. */
interface Leadership {
  /** Whether this worker certainly leads at this moment. */
  readonly isLeading: boolean;
  /** Resolves to the reason when this worker no longer leads. It must then exit, because another one may lead. */
  readonly lost: Promise<string>;
  /** Resolves when this worker leads, or when the signal aborts. Never rejects. */
  acquire(stop: AbortSignal): Promise<void>;
  /** Gives up the lead at once. Call it when nothing more is started. Never rejects. */
  release(): Promise<void>;
}

/** Decides which lanes a worker has and where their actions come from. */
export interface LaneServices {
  /** The agent IDs that this worker polls for. */
  agentIds(): readonly string[];
  sourceOf(agentId: string): Source;
  /** Resolves when the lanes may start. Never rejects. */
  ready(stop: AbortSignal): Promise<void>;
  /** Runs beside the lanes until the signal aborts. Never rejects. */
  run(lanes: LaneControl, stop: AbortSignal): Promise<void>;
  /** Called after the last lane has ended. */
  close(): Promise<void>;
  /** Opens resources that may be unavailable, before `run`. Rejects with one line. */
  open?(): Promise<void>;
}

export interface WorkerOptions extends Pick<LaneOptions, "clock" | "log" | "maxBackoffMs" | "observer"> {
  readonly services: LaneServices;
  /** Runs like `LaneServices.run`. */
  readonly reload: LaneServices["run"];
  /** Absent without leader election. */
  readonly leadership?: Leadership | undefined;
  readonly runtime: Runtime;
  readonly executor: Executor;
  readonly checkLaunch: LaunchGateOptions["checkLaunch"];
  /** How long running actions may take to end by themselves when the worker stops. */
  readonly shutdownGraceMs: number;
}

/** How the worker ended: after all actions, with cancelled actions, or detached from actions that keep running. */
export type WorkerEnd = "drained" | "cancelled" | "detached";

export interface LaneChanges {
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

export interface LaneControl {
  /** Polls for these agent IDs from now on. A removed lane ends after its running actions. */
  setAgentIds(agentIds: readonly string[]): LaneChanges;
}

interface Lane {
  readonly stop: AbortController;
  readonly ended: Promise<void>;
}

/** Runs one lane per agent ID from `run` to `stop`. */
export class Worker implements LaneControl {
  readonly #options: WorkerOptions;
  readonly #stop = new AbortController();
  readonly #cancel = new AbortController();
  readonly #ended = new AbortController();
  readonly #lanes = new Map<string, Lane>();
  readonly #serverLoad: ServerLoad;
  readonly #launches: LaunchGate;
  #agentIds: ReadonlySet<string> = new Set();
  /** Whether lanes may poll: only those of a leader do. */
  #mayPoll = false;
  #running = 0;

  constructor(options: WorkerOptions) {
    this.#options = options;
    this.#serverLoad = new ServerLoad(options.clock);
    this.#launches = new LaunchGate(options);
  }

  /** Resolves to the reason when the worker must exit as if it were killed, because another one may lead. */
  get lost(): Promise<string> {
    return this.#options.leadership?.lost ?? new Promise(() => undefined);
  }

  /**
   * Opens resources that may be unavailable, such as an address to listen on, before `run`. With leader election, `run` does
   * this. Rejects with one line.
   */
  async open(): Promise<void> {
    if (!this.#options.leadership) await this.#options.services.open?.();
  }

  /** Resolves when all lanes have ended and everything is released. */
  async run(): Promise<WorkerEnd> {
    const { leadership, reload, runtime, services } = this.#options;
    const stop = this.#stop.signal;
    try {
      // Files change while a follower waits as well.
      const reloading = reload(this, stop);
      // The promise is awaited below and may reject before.
      reloading.catch(() => undefined);
      await leadership?.acquire(stop);
      if (leadership && !stop.aborted) await services.open?.();
      if (!stop.aborted) await this.#work(stop);
      await reloading;
    } finally {
      this.#ended.abort();
      await leadership?.release();
      await runtime.close();
      await services.close();
    }
    if (!this.#cancel.signal.aborted) return "drained";
    return runtime.detach ? "detached" : "cancelled";
  }

  async #work(stop: AbortSignal): Promise<void> {
    const { executor, services } = this.#options;
    this.#mayPoll = true;
    const background = services.run(this, stop);
    // The promise is awaited below and may reject before.
    background.catch(() => undefined);
    await services.ready(stop);
    // The adoption begins before the lanes, so that actions of an earlier worker get their machines first.
    const recovered = executor.recover(this.#signals);
    this.#launches.begin(stop);
    this.setAgentIds(services.agentIds());
    // `recover` resolves after `stop` has aborted.
    await Promise.all([recovered, background]);
    await Promise.all([...this.#lanes.values()].map(({ ended }) => ended));
    await executor.reported();
  }

  setAgentIds(agentIds: readonly string[]): LaneChanges {
    if (this.#stop.signal.aborted || !this.#mayPoll) return { added: [], removed: [] };
    const before = this.#agentIds;
    this.#agentIds = new Set(agentIds);
    const added = [...this.#agentIds].filter((agentId) => !before.has(agentId));
    const removed = [...before].filter((agentId) => !this.#agentIds.has(agentId));
    const reason = new Error("the agent ID was removed");
    for (const agentId of removed) this.#lanes.get(agentId)?.stop.abort(reason);
    for (const agentId of added) this.#ensureLane(agentId);
    return { added, removed };
  }

  /** Starts no more actions. Running ones may end by themselves within the grace period. */
  stop(): void {
    if (this.#stop.signal.aborted) return;
    const { clock, executor, leadership, log, runtime, shutdownGraceMs } = this.#options;
    log.info({ running: this.#running, graceMs: shutdownGraceMs }, "stopping: draining running actions");
    const reason = new Error("the worker is stopping");
    this.#stop.abort(reason);
    for (const lane of this.#lanes.values()) lane.stop.abort(reason);
    // The next leader begins at once and adopts the actions.
    if (leadership) {
      runtime.detach?.();
      executor.handOver();
    }
    void clock.sleep(shutdownGraceMs, AbortSignal.any([this.#cancel.signal, this.#ended.signal])).then(
      () => this.cancel(),
      () => undefined,
    );
  }

  /** Cancels the running actions as well, or detaches from them if another worker can adopt them. */
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
    const { clock, log, maxBackoffMs, observer, services } = this.#options;
    const stop = new AbortController();
    const source = services.sourceOf(agentId);
    const ended = runLane(
      {
        agentId,
        source,
        execute: (action) => this.#execute(action, stop.signal),
        launchable: () => this.#launches.opened(),
        clock,
        log,
        maxBackoffMs,
        observer,
        waking: source.waking,
        serverLoad: this.#serverLoad,
      },
      stop.signal,
    ).finally(() => {
      this.#lanes.delete(agentId);
      // The agent ID may have been removed and added again while its last action ran.
      if (this.#agentIds.has(agentId)) this.#ensureLane(agentId);
    });
    this.#lanes.set(agentId, { stop, ended });
  }

  /** Resolves to false if the action was not run. An action that still waits when its lane is removed is returned. */
  async #execute(action: Action, stop: AbortSignal): Promise<boolean> {
    this.#running += 1;
    try {
      const signals = { stop, cancel: this.#cancel.signal };
      const outcome = await this.#options.executor.execute(action, signals);
      this.#launches.see(outcome, this.#stop.signal);
      return outcome !== undefined;
    } finally {
      this.#running -= 1;
    }
  }
}

/** A log line has at most so many names. */
const MOST_NAMES = 20;

export function laneFields({ added, removed }: LaneChanges): LogFields {
  return { lanesAdded: shortenedNames(added), lanesRemoved: shortenedNames(removed) };
}

export function shortenedNames(names: readonly string[]): readonly string[] {
  return names.length <= MOST_NAMES
    ? names
    : [...names.slice(0, MOST_NAMES), `${names.length - MOST_NAMES} more`];
}
