import type { Logger } from "../../../shared/logger.ts";
import { printableLine, shortened } from "../../../shared/printable.ts";
import type { Outcome } from "../../core/action/action.ts";
import type { ActionEvent } from "../../core/action/observer.ts";
import { BusyMachines } from "../shared/busy-machines.ts";
import type { Enforcement } from "../shared/drift-seen.ts";
import type { MachineNotice } from "../shared/facts.ts";
import { DRIFT_AGENT_ID } from "../shared/source-agent-ids.ts";
import { CorrectionQueue, type CorrectionQueueOptions } from "./correction-queue.ts";
import { nextCorrection } from "./next-correction.ts";
import { type Compared, StagedUpdates } from "./staged-updates.ts";

export interface EnforcerOptions extends Omit<CorrectionQueueOptions, "refusalOf"> {
  /** How long no other action must have used a machine. */
  readonly quietMs: number;
  /** Whether a workflow that names the machine's agent ID is unfinished, as far as the worker knows. */
  readonly hasWorkflow: (machine: string) => boolean;
  readonly isPaused: (machine: string) => boolean;
  readonly log: Logger;
  /** Called with each change. Must not throw. */
  readonly notify: (notice: MachineNotice) => void;
}

/** The state of one machine's corrections. */
interface Corrections {
  /** The number of failures in a row. */
  readonly failures: number;
  /** When the next attempt may start after a failure. */
  readonly retryMs: number;
  /** The error of the last failure. */
  readonly error: string;
  /** Start times of corrections in the last hour. */
  readonly startsMs: readonly number[];
}

const HOUR_MS = 60 * 60_000;
/** Corrections per machine and hour: each setting once, and one more. */
const MOST_PER_MACHINE = 6;
/** Corrections per worker and hour, because a mistake in an inventory's defaults affects every machine. */
const MOST_PER_WORKER = 60;
const MOST_FAILURES = 3;
const RETRY_MS = 10 * 60_000;
/** Pause before the comparison that follows a correction. */
const AFTER_MS = 10_000;
/** Pause before the machine is compared again if its correction was not started, or while a workflow is unfinished. */
const AGAIN_MS = 5 * 60_000;
const LONGEST_ERROR = 200;
const NONE: Corrections = { failures: 0, retryMs: 0, error: "", startsMs: [] };

/**
 * Corrects machines whose entry allows it, with one action per comparison. The next comparison decides about the next
 * correction, even after a crash.
 */
export class Enforcer {
  readonly queue: CorrectionQueue;
  readonly staged = new StagedUpdates();
  readonly #options: EnforcerOptions;
  readonly #corrections = new Map<string, Corrections>();
  readonly #shown = new Map<string, Enforcement>();
  /** When each machine of this shard became its own. */
  readonly #owned = new Map<string, number>();
  readonly #busy = new BusyMachines();
  /** When another action on a machine ended, by machine. */
  readonly #usedMs = new Map<string, number>();
  #startsMs: readonly number[] = [];

  constructor(options: EnforcerOptions) {
    this.#options = options;
    this.queue = new CorrectionQueue({ ...options, refusalOf: (machine) => this.#begin(machine) });
  }

  /** The state of a machine's corrections; undefined if there is nothing to correct. */
  find(machine: string): Enforcement | undefined {
    return this.#shown.get(machine);
  }

  /** Call for each machine with a desired state, at least once per minute. */
  owned(machine: string, isOurs: boolean): void {
    if (!isOurs) this.forget(machine);
    else if (!this.#owned.has(machine)) this.#owned.set(machine, this.#nowMs());
  }

  /** Call when the machine no longer has a desired state, or when it belongs to another shard. */
  forget(machine: string): void {
    this.#owned.delete(machine);
    this.staged.forget(machine);
    this.reset(machine);
  }

  /** Call when the desired state has changed: earlier failures do not count. */
  reset(machine: string): void {
    this.queue.withdraw(machine);
    this.#shown.delete(machine);
    const { startsMs } = this.#of(machine);
    if (startsMs.length > 0 && this.#owned.has(machine))
      this.#corrections.set(machine, { ...NONE, startsMs });
    else this.#corrections.delete(machine);
  }

  /** Offers a correction if one may start. Returns when to compare the machine again; undefined if that can wait. */
  consider(compared: Compared): number | undefined {
    const { machine, desired, differences } = compared;
    const plan = desired.enforce ? nextCorrection(desired, differences) : undefined;
    if (!plan) {
      this.reset(machine);
      return undefined;
    }
    const { error, failures } = this.#of(machine);
    if (failures >= MOST_FAILURES) {
      this.#show(machine, "stopped", `${failures} corrections failed in a row: ${error}`);
      return undefined;
    }
    if (this.queue.isRunning(machine)) return AGAIN_MS;
    const wait = this.#waitOf(machine);
    if (wait) {
      this.queue.withdraw(machine);
      this.#show(machine, "waiting", wait.reason);
      return wait.ms;
    }
    this.#show(machine, "correcting", `${plan.setting}, with ${plan.action}`);
    this.queue.offer(machine, plan);
    const corrected = differences.find(({ field }) => field === plan.field);
    if (corrected) this.staged.offered(compared, corrected);
    return AGAIN_MS;
  }

  /** Learns from an action's event. Returns a machine to compare, and when. */
  see(event: ActionEvent): { readonly machine: string; readonly ms: number } | undefined {
    if (event.action.agentId === DRIFT_AGENT_ID) return this.#seeOwn(event);
    const machine = this.#busy.see(event);
    if (machine === undefined) return undefined;
    this.#usedMs.set(machine, this.#nowMs());
    this.queue.withdraw(machine);
    if (this.#busy.has(machine) || !this.#owned.has(machine)) return undefined;
    return { machine, ms: this.#options.quietMs };
  }

  /** Forgets starts and ends that no longer count. */
  prune(): void {
    const sinceMs = this.#nowMs() - this.#options.quietMs;
    for (const [machine, usedMs] of this.#usedMs) if (usedMs < sinceMs) this.#usedMs.delete(machine);
  }

  #seeOwn(event: ActionEvent): ReturnType<Enforcer["see"]> {
    if (event.kind === "returned") {
      const machine = this.queue.remove(event.action);
      return machine === undefined ? undefined : { machine, ms: AGAIN_MS };
    }
    if (event.kind === "started" && event.machine !== undefined && !event.adopted) {
      const { name, taskId: setting } = event.action;
      const message = `corrects ${setting} with ${name}`;
      this.#options.notify({ machine: event.machine, type: "Normal", reason: "Correcting", message });
    }
    if (event.kind !== "ended") return undefined;
    // For a correction of an earlier worker, only the event names the machine.
    const known = this.queue.remove(event.action);
    const machine = known ?? event.machine;
    if (machine === undefined) return undefined;
    this.staged.ended(machine, event.outcome, known !== undefined);
    this.#ended(machine, event.outcome);
    return { machine, ms: AFTER_MS };
  }

  #ended(machine: string, { ok, class: errorClass, message }: Outcome): void {
    const { log, notify } = this.#options;
    const known = this.#of(machine);
    // The worker is stopping.
    if (!ok && errorClass === "cancelled") return;
    if (ok) {
      this.#corrections.set(machine, { ...known, failures: 0, error: "" });
      return;
    }
    const failures = known.failures + 1;
    const error = shortened(printableLine(message).trim(), LONGEST_ERROR);
    this.#corrections.set(machine, { ...known, failures, error, retryMs: this.#nowMs() + RETRY_MS });
    if (failures !== MOST_FAILURES) return;
    this.#show(machine, "stopped", `${failures} corrections failed in a row: ${error}`);
    log.warn({ machine, failures, error }, "machine corrections stopped");
    const text = `${failures} corrections failed in a row; the desired state is no longer enforced`;
    notify({ machine, type: "Warning", reason: "CorrectionsStopped", message: `${text}: ${error}` });
  }

  /** Counts a starting correction. Returns a reason if it must not start. */
  #begin(machine: string): string | undefined {
    const wait = this.#waitOf(machine);
    if (wait) return wait.reason;
    const nowMs = this.#nowMs();
    const known = this.#of(machine);
    this.#corrections.set(machine, { ...known, startsMs: [...lastHour(known.startsMs, nowMs), nowMs] });
    this.#startsMs = [...lastHour(this.#startsMs, nowMs), nowMs];
    return undefined;
  }

  /** Why nothing may be corrected now, and when to check again. */
  #waitOf(machine: string): { readonly reason: string; readonly ms: number } | undefined {
    const { hasWorkflow, isPaused, quietMs } = this.#options;
    const nowMs = this.#nowMs();
    const ownedMs = this.#owned.get(machine);
    if (ownedMs === undefined) return { reason: "another shard has the machine", ms: AGAIN_MS };
    const sinceMs = Math.max(ownedMs, this.#usedMs.get(machine) ?? ownedMs);
    const quiet = sinceMs + quietMs - nowMs;
    if (isPaused(machine)) return { reason: "the machine is paused", ms: AGAIN_MS };
    if (this.#busy.has(machine)) return { reason: "an action uses the machine", ms: AGAIN_MS };
    if (hasWorkflow(machine)) return { reason: "a workflow for the machine has not ended", ms: AGAIN_MS };
    if (quiet > 0)
      return { reason: "until no other action has used the machine for the quiet time", ms: quiet };
    const { error, retryMs, startsMs } = this.#of(machine);
    if (retryMs > nowMs) return { reason: `until the next attempt: ${error}`, ms: retryMs - nowMs };
    const own = lastHour(startsMs, nowMs);
    if (own.length >= MOST_PER_MACHINE) {
      return {
        reason: `${MOST_PER_MACHINE} corrections of the machine in an hour`,
        ms: nextStart(own, nowMs),
      };
    }
    const all = lastHour(this.#startsMs, nowMs);
    const isFull = all.length + this.queue.waitingBeside(machine) >= MOST_PER_WORKER;
    return isFull
      ? { reason: `${MOST_PER_WORKER} corrections by the worker in an hour`, ms: nextStart(all, nowMs) }
      : undefined;
  }

  #show(machine: string, state: Enforcement["state"], reason: string): void {
    this.#shown.set(machine, { state, reason });
  }

  #of(machine: string): Corrections {
    return this.#corrections.get(machine) ?? NONE;
  }

  #nowMs(): number {
    return this.#options.clock.monotonicMs();
  }
}

function lastHour(timesMs: readonly number[], nowMs: number): readonly number[] {
  return timesMs.filter((ms) => nowMs - ms < HOUR_MS);
}

function nextStart([oldestMs = 0]: readonly number[], nowMs: number): number {
  return Math.max(oldestMs + HOUR_MS - nowMs, AFTER_MS);
}
