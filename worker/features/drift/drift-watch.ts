import { type Backoff, backoffMs } from "../../../shared/backoff.ts";
import type { Clock } from "../../../shared/clock.ts";
import type { BmcError } from "../../../shared/contract/bmc-error.ts";
import type { DesiredState } from "../../../shared/contract/desired-state.ts";
import { logOutage } from "../../../shared/log-outage.ts";
import type { Logger } from "../../../shared/logger.ts";
import type { Observer } from "../../core/action/observer.ts";
import type { Inventory } from "../../machines/inventory.ts";
import type { DriftSeen } from "../shared/drift-seen.ts";
import type { MachineNotice } from "../shared/facts.ts";
import { Survey } from "../shared/survey.ts";
import type { Comparison } from "./compare-machine.ts";
import type { Enforcer } from "./enforcer.ts";

export interface DriftWatchOptions {
  /** Compares a machine while it holds the machine's lock. Rejects with a `BmcError`, and with the signal's reason. */
  readonly compare: (machine: string, desired: DesiredState, signal: AbortSignal) => Promise<Comparison>;
  readonly inventory: Pick<Inventory, "machines" | "desiredState" | "origin">;
  /** Whether this worker's shard has the machine. */
  readonly isOurs: (machine: string) => boolean;
  readonly intervalMs: number;
  /** Called with each change. Must not throw. */
  readonly notify: (notice: MachineNotice) => void;
  /** Called with each machine whose result of `find` may have changed. Must not throw. */
  readonly onCompared: (machine: string) => void;
  /** Corrects the differences that may be corrected. */
  readonly enforcer: Enforcer;
  readonly clock: Clock;
  readonly log: Logger;
  readonly random?: () => number;
}

interface Watched {
  /** Identifies the BMC and the desired state. When it changes, a new comparison starts. */
  readonly version: string;
  readonly seen: DriftSeen;
}

/** The number of concurrent comparisons. */
const MAX_COMPARISONS = 4;
/** How often the inventory is checked. */
const INVENTORY_MS = 60_000;
const JITTER = 0.1;
const RETRY: Backoff = { firstMs: 60_000, maxMs: 3_600_000, jitter: 0.5 };
/** Time limit for waiting for the machine's lock and reading it. A slow BMC takes minutes. */
const COMPARE_WITHIN_MS = 10 * 60_000;
/** The maximum number of fields in a log message. */
const MOST_FIELDS = 20;

/**
 * Compares the machines with their desired states, once per interval and after corrections. Comparisons only read.
 */
export class DriftWatch {
  readonly #options: DriftWatchOptions & { readonly random: () => number };
  readonly #survey: Survey;
  /** State of each machine that has a desired state in the inventory. */
  readonly #watched = new Map<string, Watched>();

  constructor(options: DriftWatchOptions) {
    this.#options = { random: Math.random, ...options };
    this.#survey = new Survey({
      visit: (machine, signal) => this.#compare(machine, signal),
      onFailure: (machine, error, failures) => this.#failed(machine, error, failures),
      onVisited: options.onCompared,
      visitWithinMs: COMPARE_WITHIN_MS,
      failsWhenLate: true,
      concurrency: MAX_COMPARISONS,
      namespaceOf: (machine) => options.inventory.origin?.(machine)?.namespace,
      clock: options.clock,
    });
  }

  readonly observer: Observer = {
    action: (event) => {
      this.#survey.see(event);
      const again = this.#options.enforcer.see(event);
      if (!again) return;
      this.#survey.visitWithin(again.machine, again.ms);
      this.#options.onCompared(again.machine);
    },
  };

  /** The last comparison of a machine; undefined if there was none. */
  find(machine: string): DriftSeen | undefined {
    const seen = this.#watched.get(machine)?.seen;
    if (!seen?.comparedAt && !seen?.error) return undefined;
    return { ...seen, enforcement: this.#options.enforcer.find(machine) };
  }

  /** Runs until the signal aborts and no comparison is in flight. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#survey.run(signal), this.#followInventory(signal)]);
  }

  async #followInventory(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#refresh();
      await this.#options.clock.sleep(INVENTORY_MS, signal).catch(() => undefined);
    }
  }

  #refresh(): void {
    const { enforcer, inventory, intervalMs, isOurs, random } = this.#options;
    const gone = new Set(this.#watched.keys());
    for (const { name, lockKey, paused } of inventory.machines()) {
      const desired = inventory.desiredState?.(name);
      // A paused machine is compared like a new one once it is in service again.
      if (!desired || paused) continue;
      gone.delete(name);
      enforcer.owned(name, isOurs(name));
      const version = JSON.stringify([lockKey, desired]);
      if (this.#watched.get(name)?.version === version) continue;
      this.#watched.set(name, { version, seen: { differences: [] } });
      enforcer.reset(name);
      this.#survey.reset(name);
      this.#survey.visitAfter(name, random() * intervalMs);
    }
    for (const name of gone) {
      this.#watched.delete(name);
      enforcer.forget(name);
      this.#survey.forget(name);
    }
    enforcer.prune();
  }

  /** Resolves to the time until the next comparison. */
  async #compare(machine: string, signal: AbortSignal): Promise<number | undefined> {
    const { compare, enforcer, inventory, intervalMs, isOurs, random } = this.#options;
    const desired = inventory.desiredState?.(machine);
    const watched = this.#watched.get(machine);
    if (!desired || !watched) return undefined;
    const nextMs = intervalMs * (1 - JITTER * random());
    if (!isOurs(machine)) {
      this.#watched.set(machine, { ...watched, seen: { differences: [] } });
      return nextMs;
    }
    const found = await compare(machine, desired, signal);
    const differences = enforcer.staged.withPending({ machine, desired, differences: found.differences });
    this.#compared(machine, watched, { ...found, differences });
    if (found.error) throw found.error;
    // The entry may have changed meanwhile.
    if (this.#watched.get(machine)?.version !== watched.version) return nextMs;
    const againMs = enforcer.consider({ machine, desired, differences });
    return Math.min(nextMs, againMs ?? nextMs);
  }

  #compared(machine: string, { version }: Watched, { differences, error }: Comparison): void {
    const { clock, log, notify } = this.#options;
    const watched = this.#watched.get(machine);
    // The entry may have changed meanwhile.
    if (watched?.version !== version || (error && differences.length === 0)) return;
    const read = new Set(differences.map(({ field }) => field));
    // Settings that could not be read this time keep their last state.
    const kept = error ? watched.seen.differences.filter(({ field }) => !read.has(field)) : [];
    const all = [...kept, ...differences.filter(({ state }) => state !== "same")];
    const seen: DriftSeen = { differences: all, comparedAt: new Date(clock.now()) };
    this.#watched.set(machine, { version, seen });
    const before = fieldsThatDiffer(watched.seen);
    const fields = fieldsThatDiffer(seen);
    if (fields.join() === before.join()) return;
    const count = fields.length;
    if (count === 0) {
      log.info({ machine }, "machine drift ended");
      notify({ machine, type: "Normal", reason: "DriftEnded", message: "is as desired again" });
    } else {
      const shown = fields.slice(0, MOST_FIELDS);
      log.warn({ machine, fields: shown, count }, "machine drifted");
      const others = count > shown.length ? ` and ${count - shown.length} more` : "";
      const message = `differs from the desired state: ${shown.join(", ")}${others}`;
      notify({ machine, type: "Warning", reason: "Drifted", message });
    }
  }

  #failed(machine: string, { class: errorClass, message }: BmcError, failures: number): number | undefined {
    const { intervalMs, log, random } = this.#options;
    const watched = this.#watched.get(machine);
    if (!watched) return undefined;
    const error = { class: errorClass, message };
    this.#watched.set(machine, { ...watched, seen: { ...watched.seen, error } });
    const waitMs = Math.min(backoffMs(RETRY, failures, random), Math.max(intervalMs, RETRY.firstMs));
    const fields = { machine, class: errorClass, error: message, waitMs };
    logOutage(log, failures === 1, fields, "comparing machine failed, retrying");
    return waitMs;
  }
}

function fieldsThatDiffer({ differences }: DriftSeen): readonly string[] {
  return differences.flatMap(({ field, state }) => (state === "different" ? [field] : [])).toSorted();
}
