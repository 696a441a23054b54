import { randomUUID } from "node:crypto";
import type { Clock } from "../../../shared/clock.ts";
import type { Action, ActionId, ActionStatus } from "../../core/action/action.ts";
import type { Acknowledgement, StatusSink } from "../../core/ports/source.ts";
import { HeldQueue } from "../../sources/held-queue.ts";
import { DRIFT_AGENT_ID } from "../shared/source-agent-ids.ts";
import type { CorrectionPlan } from "./next-correction.ts";

export interface CorrectionQueueOptions {
  /** The image of corrections, with `{action}` and optionally `{version}`. */
  readonly image: string;
  readonly version: string;
  /** The namespace of the machine's object in the worker's cluster, for the policy's tenants. */
  readonly namespaceOf: (machine: string) => string | undefined;
  /** Why a correction must not start now. */
  readonly refusalOf: (machine: string) => string | undefined;
  readonly clock: Clock;
}

interface Offer {
  /** The machine's name. */
  readonly id: string;
  readonly action: Action;
  readonly offeredMs: number;
  readonly cancel: AbortController;
  readonly isRunning: boolean;
}

/** The action must end this long before the time limit, so that it can report what it waited for. */
const MARGIN_MS = 30_000;
/** Older comparisons are repeated first. */
const FRESH_MS = 5 * 60_000;

const WITHDRAWN = new Error("the correction is withdrawn");

/** A source of actions for corrections, at most one per machine. */
export class CorrectionQueue implements StatusSink {
  readonly held: HeldQueue<Offer>;
  readonly #options: CorrectionQueueOptions;
  /** Offers by machine. */
  readonly #offers = new Map<string, Offer>();

  constructor(options: CorrectionQueueOptions) {
    this.#options = options;
    this.held = new HeldQueue({
      agentId: DRIFT_AGENT_ID,
      idle: "nothing is to correct",
      actionOf: ({ action }) => action,
      // The machine is compared again first.
      onReturn: () => undefined,
      clock: options.clock,
    });
  }

  /** How many other machines have a correction that has not started. */
  waitingBeside(machine: string): number {
    return [...this.#offers].filter(([other, { isRunning }]) => other !== machine && !isRunning).length;
  }

  isRunning(machine: string): boolean {
    return this.#offers.get(machine)?.isRunning === true;
  }

  /** Replaces an earlier offer that has not started. */
  offer(machine: string, { setting, action: name, environment, timeoutMs }: CorrectionPlan): void {
    if (this.isRunning(machine)) return;
    this.withdraw(machine);
    const { clock, image, namespaceOf, version } = this.#options;
    const namespace = namespaceOf(machine);
    const action: Action = {
      workflowId: namespace === undefined ? `drift/${machine}` : `${namespace}/drift-${machine}`,
      taskId: setting,
      agentId: DRIFT_AGENT_ID,
      anyNamespace: true,
      actionId: randomUUID(),
      name,
      image: image.replaceAll("{action}", name).replaceAll("{version}", version),
      timeoutMs,
      command: [],
      volumes: [],
      environment: { MACHINE: machine, ...environment, TIMEOUT: `${(timeoutMs - MARGIN_MS) / 1_000}s` },
    };
    const cancel = new AbortController();
    const offer = { id: machine, action, offeredMs: clock.monotonicMs(), cancel, isRunning: false };
    this.#offers.set(machine, offer);
    this.held.add(offer);
  }

  /** Has no effect on a correction that has started. */
  withdraw(machine: string): void {
    const offer = this.#offers.get(machine);
    if (!offer || offer.isRunning) return;
    this.#forget(machine);
    offer.cancel.abort(WITHDRAWN);
  }

  /** Forgets an action that has ended or was not run. Returns its machine; undefined for unknown actions. */
  remove({ actionId }: ActionId): string | undefined {
    const [machine] = this.#find(actionId) ?? [];
    if (machine !== undefined) this.#forget(machine);
    return machine;
  }

  /** Returns a signal that aborts when the correction is withdrawn before it starts. */
  cancelOf({ actionId }: ActionId): AbortSignal | undefined {
    return this.#find(actionId)?.[1].cancel.signal;
  }

  /**
   * Decides whether the correction may start now that it holds the machine's lock, because anything may have changed while
   * it waited.
   */
  async report({ action, state }: ActionStatus, signal: AbortSignal): Promise<Acknowledgement> {
    signal.throwIfAborted();
    if (state !== "running") return { kind: "acknowledged" };
    const [machine, offer] = this.#find(action.actionId) ?? [];
    const reason =
      machine === undefined || !offer ? "the correction is withdrawn" : this.#refusalOf(machine, offer);
    if (reason !== undefined) return { kind: "rejected", code: "FailedPrecondition", reason };
    if (machine !== undefined && offer) this.#offers.set(machine, { ...offer, isRunning: true });
    return { kind: "acknowledged" };
  }

  #refusalOf(machine: string, { offeredMs }: Offer): string | undefined {
    const { clock, refusalOf } = this.#options;
    if (clock.monotonicMs() - offeredMs > FRESH_MS) return "the machine was compared too long ago";
    return refusalOf(machine);
  }

  #forget(machine: string): void {
    this.#offers.delete(machine);
    this.held.remove(machine);
  }

  #find(actionId: string): readonly [machine: string, offer: Offer] | undefined {
    return [...this.#offers].find(([, { action }]) => action.actionId === actionId);
  }
}
