import type { Clock } from "../../../shared/clock.ts";
import type { Logger } from "../../../shared/logger.ts";
import type { ActionId, WorkflowMember } from "../../core/action/action.ts";
import type { Observer } from "../../core/action/observer.ts";
import type { Wake, Waking } from "../../core/ports/source.ts";
import type { WorkflowProblem } from "../../explain/workflow-review.ts";
import type { Cluster } from "../../kubernetes/client/cluster.ts";
import { KINDS, keyOf, nameOfKey } from "../../kubernetes/client/kinds.ts";
import { WatchedObjects } from "../../kubernetes/client/watched-objects.ts";
import { ObjectIndex } from "../../kubernetes/controller/object-index.ts";
import { Deletions } from "./deletions.ts";
import { ReportedEnds } from "./reported-ends.ts";
import { type WatchedWorkflow, watchedWorkflow } from "./watched-workflow.ts";

export interface WakeUpOptions {
  readonly cluster: Cluster;
  readonly namespace?: string | undefined;
  readonly clock: Clock;
  readonly log: Logger;
  /** Called with each Workflow before its first action has run, as often as it changes. Must not throw. */
  readonly onPending?: (object: unknown, workflowId: string) => void;
  readonly random?: () => number;
}

/** How often an agent ID without a Workflow is polled, in case the watch missed one. */
const IDLE_POLL_MS = 15 * 60_000;
/** The longest delay of a watch. */
const WATCH_LAG_MS = 10_000;
/** Spreads the lanes' polls when the watch fails. */
const RESUME_SPREAD_MS = 10_000;

/** Created once: aborting without a reason creates an error with a stack, and thousands of lanes may be woken. */
const WOKEN = new Error("woken up");

/** Derives from the cluster's Workflows for which agent IDs the tink server may have an action. */
export class WakeUp implements Waking {
  readonly #options: WakeUpOptions;
  readonly #workflows: WatchedObjects<WatchedWorkflow>;
  readonly #deletions = new Deletions();
  readonly #reportedEnds: ReportedEnds;
  /** Workflows whose next task is for an agent ID, by that. */
  readonly #addressed = new ObjectIndex(({ agents }: WatchedWorkflow) => agents);
  /** Unfinished Workflows, by agent ID. */
  readonly #open = new ObjectIndex(({ workers }: WatchedWorkflow) => workers);
  /** Finished Workflows that the server may pick instead, by agent ID. */
  readonly #blocking = new ObjectIndex(({ blocked }: WatchedWorkflow) =>
    blocked === undefined ? [] : [blocked],
  );
  #stop: AbortSignal | undefined;
  #isOutsideWatch = false;
  readonly #sleeping = new Map<string, Set<() => void>>();

  constructor(options: WakeUpOptions) {
    this.#options = options;
    const { cluster, namespace, clock, log, onPending } = options;
    this.#reportedEnds = new ReportedEnds({
      ...{ clock, log, stop: () => this.#stop },
      isShown: (workflowId) => this.isWatching && this.#knows(workflowId),
    });
    this.#workflows = new WatchedObjects<WatchedWorkflow>({
      cluster,
      kind: KINDS.workflow,
      selection: { namespace },
      clock,
      log,
      project: (object, name) => {
        this.#reportedEnds.see(object);
        const watched = watchedWorkflow(object);
        if (watched.isPending) onPending?.(object, keyOf(name));
        return watched;
      },
      onState: ({ kind }) => {
        if (kind === "failing") this.#wakeAll();
      },
      onChange: (change) => {
        for (const index of [this.#addressed, this.#open, this.#blocking]) index.change(change);
        for (const agentId of change.kind === "set" ? change.value.agents : []) this.#wake(agentId);
        this.#deletions.take(change);
      },
    });
  }

  /** Follows the actions of the worker. */
  get observer(): Observer {
    return this.#reportedEnds.observer;
  }

  /** Reports that the server acknowledged without a change. */
  unchanged(): readonly WorkflowProblem[] {
    return this.#reportedEnds.problems();
  }

  /** Runs until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    this.#stop = signal;
    await this.#workflows.run(signal);
  }

  get isWatching(): boolean {
    return !this.#isOutsideWatch && this.#workflows.isSynced && this.#workflows.state.kind === "watching";
  }

  /** Whether the watch has neither succeeded nor failed yet. */
  get isStarting(): boolean {
    return !this.isWatching && !this.#isOutsideWatch && this.#workflows.state.kind !== "failing";
  }

  now(agentId: string): Wake | undefined {
    if (!this.isWatching) return "unknown";
    return this.#addressed.count(agentId) > 0 ? "addressed" : undefined;
  }

  /** Whether an unfinished Workflow has a task for the agent ID. */
  hasOpen(agentId: string): boolean {
    return this.#open.count(agentId) > 0;
  }

  /** The agent IDs of all tasks of unfinished Workflows. */
  named(): Iterable<string> {
    return this.#open.values();
  }

  /** Whether a Workflow exists and is unfinished. */
  isOpen(workflowId: string): boolean {
    return (this.#find(workflowId)?.workers.length ?? 0) > 0;
  }

  blocking(agentId: string): number {
    return this.#blocking.count(agentId);
  }

  async wait(agentId: string, signal: AbortSignal): Promise<Wake> {
    const { clock, random = Math.random } = this.#options;
    if (this.now(agentId) === undefined) {
      const woken = await this.#sleep(agentId, IDLE_POLL_MS * (0.5 + random()), signal);
      if (signal.aborted) return "unknown";
      if (!woken) return "rarely";
    }
    const why = this.now(agentId) ?? "rarely";
    if (why === "unknown") await clock.sleep(RESUME_SPREAD_MS * random(), signal).catch(() => undefined);
    return why;
  }

  /**
   * Records that the server has served an action. With the wrong namespace no lane would be woken, so all lanes then poll
   * continuously.
   */
  served({ workflowId }: WorkflowMember, why: Wake): void {
    if (why !== "rarely" || !this.isWatching || this.#knows(workflowId)) return;
    const { clock, log, namespace } = this.#options;
    void clock.sleep(WATCH_LAG_MS, this.#stop).then(
      () => {
        if (!this.isWatching || this.#knows(workflowId)) return;
        this.#isOutsideWatch = true;
        this.#wakeAll();
        const watched = namespace ?? "*";
        log.warn(
          { workflow: workflowId, watched },
          "workflow outside watched namespaces, lanes poll continuously",
        );
      },
      () => undefined,
    );
  }

  /** Returns a signal that aborts when the action's Workflow is deleted. */
  cancelOf(action: ActionId): AbortSignal {
    return this.#deletions.signalOf(action, this.#find(action.workflowId));
  }

  /** Whether the watch works and shows the Workflow with this action, so that it will show its deletion. */
  seesDeletion({ workflowId, actionId }: ActionId): boolean {
    return this.isWatching && (this.#find(workflowId)?.actionIds.includes(actionId) ?? false);
  }

  #knows(workflowId: string): boolean {
    return this.#find(workflowId) !== undefined;
  }

  #find(workflowId: string): WatchedWorkflow | undefined {
    return this.#workflows.get(nameOfKey(workflowId));
  }

  /** Resolves to whether the lane was woken before the time was over. */
  async #sleep(agentId: string, ms: number, signal: AbortSignal): Promise<boolean> {
    const woken = new AbortController();
    const wake = () => woken.abort(WOKEN);
    const sleeping = this.#sleeping.get(agentId) ?? new Set();
    this.#sleeping.set(agentId, sleeping.add(wake));
    signal.addEventListener("abort", wake, { once: true });
    try {
      await this.#options.clock.sleep(ms, woken.signal);
      return false;
    } catch {
      return true;
    } finally {
      signal.removeEventListener("abort", wake);
      sleeping.delete(wake);
      if (sleeping.size === 0) this.#sleeping.delete(agentId);
    }
  }

  #wake(agentId: string): void {
    for (const wake of this.#sleeping.get(agentId) ?? []) wake();
  }

  /** Wakes all lanes, because without the watch every agent ID may have an action. */
  #wakeAll(): void {
    for (const agentId of [...this.#sleeping.keys()]) this.#wake(agentId);
  }
}
