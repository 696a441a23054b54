import type { Clock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import { nearestName } from "../../shared/nearest-name.ts";
import { textOf } from "../../shared/text-of.ts";
import type { Action } from "../core/action/action.ts";
import { inOtherCase } from "../machines/agent-id.ts";
import { type JudgeOptions, refusalsBefore } from "./explain.ts";

export interface WorkflowReviewOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** The rules and machines of the moment. */
  readonly rules: () => Omit<JudgeOptions, "clock">;
  /** The agent IDs that this worker polls for. */
  readonly polled: () => readonly string[];
  /** The agent IDs of all machines and settings, including those of other shards. */
  readonly known: () => readonly string[];
}

/** A mistake in a workflow that is known before its first command. */
export interface WorkflowProblem {
  readonly workflow: string;
  readonly task: string;
  readonly action: string;
  /** One line. */
  readonly reason: string;
}

interface Reviewed {
  readonly actions: readonly Action[];
  readonly problems: readonly WorkflowProblem[];
}

/** Nothing else removes workflows that the server forgets. */
const MOST_SEEN = 20_000;
const MOST_QUEUED = 1_000;
/** Workflows with problems whose actions are kept, so that a changed rule or machine removes the problem. */
const MOST_KEPT = 100;
const MOST_LOGGED = 10;
const RECHECK_MS = 10_000;

/**
 * Checks every action of a workflow before the first one runs, and warns about those that cannot succeed. The actions still
 * run: the policy and each action decide again when it is their turn.
 */
export class WorkflowReview {
  readonly #options: WorkflowReviewOptions;
  /** The IDs of the actions that each workflow had when it was seen, the oldest workflow first. */
  readonly #seen = new Map<string, string>();
  readonly #kept = new Map<string, Reviewed>();
  #queue: (readonly Action[])[] = [];
  #mayBegin = false;
  #isBusy = false;
  #checkedMs = 0;

  constructor(options: WorkflowReviewOptions) {
    this.#options = options;
  }

  /** Begins with the reviews: before, machines may be missing that the worker still reads. */
  begin(): void {
    this.#mayBegin = true;
    void this.#work();
  }

  /** Reviews a workflow, once, in the background. `actions` are all actions of one workflow. */
  see(actions: readonly Action[]): void {
    const [first] = actions;
    if (first === undefined || this.#queue.length >= MOST_QUEUED) return;
    const { workflowId } = first;
    const ids = actions.map(({ actionId }) => actionId).join(" ");
    if (this.#seen.get(workflowId) === ids) return;
    this.#seen.delete(workflowId);
    this.#seen.set(workflowId, ids);
    dropOldest(this.#seen, MOST_SEEN);
    this.#queue.push(actions);
    void this.#work();
  }

  /** The problems of the workflows that `isOpen` names. They are checked again in the background. */
  problems(isOpen: (workflowId: string) => boolean): readonly WorkflowProblem[] {
    const { clock } = this.#options;
    for (const workflowId of this.#kept.keys()) if (!isOpen(workflowId)) this.#kept.delete(workflowId);
    if (this.#kept.size > 0 && clock.monotonicMs() - this.#checkedMs > RECHECK_MS) void this.#recheck();
    return [...this.#kept.values()].flatMap(({ problems }) => problems);
  }

  async #work(): Promise<void> {
    if (!this.#mayBegin || this.#isBusy) return;
    this.#isBusy = true;
    try {
      for (let actions = this.#queue.shift(); actions; actions = this.#queue.shift()) {
        this.#log(await this.#review(actions));
        // Many workflows may be seen at once, and lanes must not wait for all of them.
        await new Promise((resolve) => setImmediate(resolve));
      }
    } catch (thrown) {
      this.#options.log.error({ error: textOf(thrown) }, "workflow review failed");
    } finally {
      this.#isBusy = false;
    }
  }

  async #recheck(): Promise<void> {
    this.#checkedMs = this.#options.clock.monotonicMs();
    try {
      for (const { actions } of [...this.#kept.values()]) await this.#review(actions);
    } catch (thrown) {
      this.#options.log.error({ error: textOf(thrown) }, "workflow review failed");
    }
  }

  async #review(actions: readonly Action[]): Promise<readonly WorkflowProblem[]> {
    const { clock, rules, polled, known } = this.#options;
    const own = new Set(polled());
    const mine = actions.filter(({ agentId }) => own.has(agentId));
    const problems = [...agentProblems(actions, known())];
    for (const action of mine) {
      for (const { rule, reason } of await refusalsBefore(action, { ...rules(), clock })) {
        // A paused machine is a state that ends, not a mistake.
        if (rule !== "pausedMachines") problems.push(problemOf(action, reason));
      }
    }
    const workflowId = actions[0]?.workflowId ?? "";
    if (problems.length > 0) this.#kept.set(workflowId, { actions, problems });
    else this.#kept.delete(workflowId);
    dropOldest(this.#kept, MOST_KEPT);
    return problems;
  }

  #log(problems: readonly WorkflowProblem[]): void {
    for (const [index, { reason, ...of }] of problems.slice(0, MOST_LOGGED).entries()) {
      const more = index === MOST_LOGGED - 1 ? problems.length - MOST_LOGGED : 0;
      this.#options.log.warn({ ...of, reason, ...(more > 0 && { more }) }, "workflow has a mistake");
    }
  }
}

function problemOf({ workflowId, taskId, name }: Action, reason: string): WorkflowProblem {
  return { workflow: workflowId, task: taskId, action: name, reason };
}

/**
 * Agent IDs that are probably misspelt. Machines of other workers also have agent IDs that are not known here, with other
 * digits or another letter, so only a missing, additional or swapped character counts, and another case.
 */
function agentProblems(actions: readonly Action[], known: readonly string[]): readonly WorkflowProblem[] {
  const isKnown = new Set(known);
  const byAgentId = new Map(
    actions.filter(({ agentId }) => !isKnown.has(agentId)).map((action) => [action.agentId, action] as const),
  );
  if (byAgentId.size === 0) return [];
  const otherCase = new Map(
    inOtherCase(byAgentId.keys(), known).map(({ named, polled }) => [named, polled] as const),
  );
  const byDigits = Map.groupBy(known, digitsOf);
  return [...byAgentId].flatMap(([agentId, action]) => {
    const alike = (byDigits.get(digitsOf(agentId)) ?? []).slice(0, MOST_ALIKE);
    const meant = otherCase.get(agentId) ?? nearestName(agentId, alike);
    if (meant === undefined || !isSlip(agentId.toLowerCase(), meant.toLowerCase())) return [];
    const reason = `no machine has the agent ID ${agentId}, did you mean ${meant}? No worker polls for it, so its tasks stay PENDING`;
    return [problemOf(action, reason)];
  });
}

const MOST_ALIKE = 100;

function digitsOf(agentId: string): string {
  return agentId.replace(/\D+/g, " ").trim();
}

/** Whether one text is the other with a character added or two swapped. */
function isSlip(one: string, other: string): boolean {
  return one.length !== other.length || [...one].sort().join("") === [...other].sort().join("");
}

function dropOldest(map: Map<string, unknown>, most: number): void {
  const [oldest] = map.keys();
  if (map.size > most && oldest !== undefined) map.delete(oldest);
}
