import { z } from "zod";
import type { Clock } from "../../../shared/clock.ts";
import { BmcError } from "../../../shared/contract/bmc-error.ts";
import type { PowerState } from "../../../shared/contract/vocabulary.ts";
import { logOutage } from "../../../shared/log-outage.ts";
import type { Logger } from "../../../shared/logger.ts";
import { textOf } from "../../../shared/text-of.ts";
import { TimeoutReached, withTimeout } from "../../../shared/timeout.ts";
import { WorkQueue } from "../../../shared/work-queue.ts";
import type { Observer } from "../../core/action/observer.ts";
import type { Cluster } from "../../kubernetes/client/cluster.ts";
import { KINDS, keyOf, nameOfKey, type ObjectName } from "../../kubernetes/client/kinds.ts";
import { isKubernetesError } from "../../kubernetes/client/kubernetes-error.ts";
import type { Change } from "../../kubernetes/client/watched-objects.ts";
import { MachinePaused } from "../../machines/pause.ts";
import type { ReferenceRefusal } from "../../policy/reference.ts";
import { type MachineReading, machineStatus, readingOfError, readingOfOutcome } from "./machine-status.ts";
import { patchStatus } from "./patch-status.ts";
import type { MachineStatus, RufioMachine } from "./rufio-api.ts";
import { MachineObject } from "./rufio-kinds.ts";
import { LeaseHeld, type RufioLease } from "./rufio-lease.ts";
import { type RufioObjects, shareKey } from "./rufio-objects.ts";
import { type MissingSecret, secretRetryMs } from "./secret-retry.ts";

export interface MachinePollerOptions {
  readonly cluster: Pick<Cluster, "find" | "patch">;
  readonly objects: Pick<RufioObjects, "isSynced" | "machines">;
  readonly lease: Pick<RufioLease, "isFree" | "confirmFree">;
  readonly owns: (key: string) => boolean;
  readonly machineName: (machine: ObjectName) => string;
  /**
   * Reads the power state under the machine's lock, with its own timeout. Rejects with a `BmcError`, which is written
   * to the status, or with the signal's reason if the machine was busy all the time.
   */
  readonly getPower: (machineName: string, signal: AbortSignal) => Promise<PowerState>;
  readonly references: ReferenceRefusal;
  readonly missingSecret: MissingSecret;
  /** 0 means only after actions. */
  readonly intervalMs: number;
  readonly maxReads: number;
  readonly clock: Clock;
  readonly log: Logger;
  readonly random: () => number;
}

interface Refused {
  /** The version of the refused Secret; undefined if it cannot be read. */
  readonly secretVersion: string | undefined;
  readonly sinceMs: number;
}

interface Watched {
  readonly actions: Set<string>;
  refused?: Refused;
  pending?: MachineReading;
}

const JITTER = 0.1;
/** The pause after an action, so that the next action of a Job comes first. */
const AFTER_ACTION_MS = 2_000;
/** Within this time, a new Machine or one with a new connection is read. */
const NEW_WITHIN_MS = 2_000;
/** Limits waiting for the lock and reading. */
const READ_WITHIN_MS = 120_000;
const WRITE_RETRY_MS = 30_000;
/** How often to check the Secret of a refused password, which needs no BMC. */
const CHECK_SECRET_MS = 60_000;
/** How often a refused password is tried again: the BMC's password may have been changed to it, and one attempt per day locks no account. */
const REFUSED_RETRY_MS = 24 * 60 * 60_000;

const Versioned = z.object({ metadata: z.object({ resourceVersion: z.string() }) });

/** Updates the status of Machines: power state, and whether they are reachable. */
export class MachinePoller {
  readonly #options: MachinePollerOptions;
  readonly #work: WorkQueue;
  readonly #watched = new Map<string, Watched>();
  readonly #keys = new Map<string, string>();
  readonly #busy = new Map<string, string>();
  /** Machines whose Secret could not be read. */
  readonly #secretless = new Set<string>();
  #isFailing = false;

  constructor(options: MachinePollerOptions) {
    this.#options = options;
    const { clock, maxReads } = options;
    const work = (key: string, signal: AbortSignal) => this.#update(key, signal);
    this.#work = new WorkQueue({
      work,
      onFailure: () => undefined,
      clock,
      concurrency: maxReads,
      tenantOf: (key) => nameOfKey(key).namespace,
    });
  }

  /** Power states that actions read need no extra round trip. */
  readonly observer: Observer = {
    action: (event) => {
      switch (event.kind) {
        case "started":
          if (event.machine !== undefined) this.#actionStarted(event.action.key, event.machine);
          return;
        case "returned":
          this.#actionLeft(event.action.key);
          return;
        case "ended": {
          const { outcome } = event;
          const key = this.#actionLeft(event.action.key) ?? this.#keys.get(event.machine ?? "");
          if (key !== undefined) this.#actionEnded(key, readingOfOutcome(outcome), outcome.ok);
        }
      }
    },
  };

  /** Runs until the signal aborts and no read is in flight. Never rejects. */
  run(signal: AbortSignal): Promise<void> {
    return this.#work.run(signal);
  }

  machineChanged(change: Change<RufioMachine>): void {
    const key = keyOf(change.name);
    const { intervalMs, objects, machineName, random } = this.#options;
    const inventoryName = machineName(change.name);
    if (change.kind === "gone" || change.value.deleted || change.value.paused) {
      this.#work.cancel(key);
      this.#watched.delete(key);
      this.#secretless.delete(key);
      this.#keys.delete(inventoryName);
      return;
    }
    const { before, value } = change;
    const watched = this.#watched.get(key);
    const isSame = before?.uid === value.uid && before.connection === value.connection;
    if (watched && isSame) return;
    this.#keys.set(inventoryName, key);
    if (watched) {
      delete watched.refused;
      delete watched.pending;
    } else this.#watched.set(key, { actions: new Set() });
    // `recheckAll` spreads those of the first list.
    if (intervalMs > 0 && objects.isSynced) this.#work.addAfter(key, NEW_WITHIN_MS * random());
  }

  /** Schedules unscheduled Machines over the interval, because ownership has changed or all objects are listed. */
  recheckAll(): void {
    const { intervalMs, random, objects } = this.#options;
    if (intervalMs === 0) return;
    for (const { name, deleted, paused } of objects.machines.values()) {
      const key = keyOf(name);
      // One in flight schedules its next read itself.
      if (deleted || paused || this.#work.has(key) || this.#work.isInFlight(key)) continue;
      if (this.#isMine(name)) this.#work.addAfter(key, intervalMs * random());
    }
  }

  #isMine(machine: ObjectName): boolean {
    const { lease, owns } = this.#options;
    return lease.isFree && owns(shareKey(machine));
  }

  #actionStarted(action: string, machineName: string): void {
    const key = this.#keys.get(machineName);
    const watched = key === undefined ? undefined : this.#watched.get(key);
    if (key === undefined || !watched) return;
    watched.actions.add(action);
    this.#busy.set(action, key);
  }

  /** Returns the key of the action's Machine. */
  #actionLeft(action: string): string | undefined {
    const key = this.#busy.get(action);
    this.#busy.delete(action);
    if (key !== undefined) this.#watched.get(key)?.actions.delete(action);
    return key;
  }

  #actionEnded(key: string, seen: MachineReading | undefined, ok: boolean): void {
    const watched = this.#watched.get(key);
    if (!watched) return;
    if (ok) delete watched.refused;
    delete watched.pending;
    if (seen) watched.pending = seen;
    this.#work.addAfter(key, seen ? 0 : AFTER_ACTION_MS);
  }

  /** Reads the Machine's power, or writes its pending status. Never rejects. */
  async #update(key: string, signal: AbortSignal): Promise<void> {
    const watched = this.#watched.get(key);
    if (!watched) return;
    if (!this.#isMine(nameOfKey(key))) {
      // The new owner has newer information.
      delete watched.pending;
      return;
    }
    let nextMs: number;
    try {
      nextMs = (await this.#reconcile(key, watched, signal)) ?? this.#nextMs();
    } catch (thrown) {
      if (signal.aborted) return;
      nextMs = this.#failed(key, thrown);
    }
    if (this.#watched.has(key) && nextMs > 0 && !this.#work.has(key)) this.#work.addAfter(key, nextMs);
  }

  /** Resolves to the delay until the next read, unless it is the usual one. */
  async #reconcile(key: string, watched: Watched, signal: AbortSignal): Promise<number | undefined> {
    const whenUnread = () => {
      if (this.#secretless.has(key)) return secretRetryMs(this.#secretless.size);
      return watched.refused ? CHECK_SECRET_MS : undefined;
    };
    if (watched.pending) {
      await this.#writeReading(key, watched, watched.pending, signal);
      return whenUnread();
    }
    // The action's end will show the status.
    if (watched.actions.size > 0) return undefined;
    if (watched.refused && !(await this.#mayRetry(key, watched.refused, signal))) return CHECK_SECRET_MS;
    const seen = await this.#read(key, signal);
    // Without a reading, the machine is paused or was in use all the time; an action that started or ended meanwhile has newer
    // information.
    if (!seen || watched.actions.size > 0 || watched.pending) return undefined;
    delete watched.refused;
    watched.pending = seen;
    await this.#writeReading(key, watched, seen, signal);
    return whenUnread();
  }

  async #writeReading(
    key: string,
    watched: Watched,
    seen: MachineReading,
    signal: AbortSignal,
  ): Promise<void> {
    if (!seen.contactable && seen.refused && !watched.refused)
      watched.refused = {
        secretVersion: await this.#secretVersion(key, signal),
        sinceMs: this.#options.clock.monotonicMs(),
      };
    await this.#write(key, seen, signal);
    if (watched.pending === seen) delete watched.pending;
  }

  async #read(key: string, signal: AbortSignal): Promise<MachineReading | undefined> {
    const { getPower, missingSecret, machineName } = this.#options;
    const machine = machineName(nameOfKey(key));
    try {
      const power = await withTimeout(READ_WITHIN_MS, signal, (bound) => getPower(machine, bound));
      this.#secretless.delete(key);
      return { contactable: true, power };
    } catch (thrown) {
      signal.throwIfAborted();
      if (thrown instanceof TimeoutReached || thrown instanceof MachinePaused) return undefined;
      const error = BmcError.from(thrown);
      const isSecretless = error.class === "usage" && (await missingSecret(machine, signal)) !== undefined;
      this.#secretless[isSecretless ? "add" : "delete"](key);
      return readingOfError(error);
    }
  }

  async #write(key: string, seen: MachineReading, signal: AbortSignal): Promise<void> {
    const { cluster, objects, lease, clock, log } = this.#options;
    const name = nameOfKey(key);
    const machine = objects.machines.get(name);
    if (!machine) return;
    const { uid, resourceVersion, status } = machine;
    if (!machineStatus(status, seen, clock.now())) return;
    await lease.confirmFree(signal);
    const known = { resourceVersion, status };
    const change = (found: MachineStatus) => machineStatus(found, seen, clock.now());
    const object = { kind: KINDS.rufioMachine, name, uid, schema: MachineObject, known };
    const patched = await patchStatus(cluster, object, change, signal);
    this.#isFailing = false;
    if (patched !== "written") return;
    if (seen.contactable) log.debug({ rufioMachine: key, power: seen.power }, "Rufio machine status updated");
    else log.info({ rufioMachine: key, reason: seen.message }, "Rufio machine not contactable");
  }

  async #mayRetry(key: string, refused: Refused, signal: AbortSignal): Promise<boolean> {
    if (this.#options.clock.monotonicMs() - refused.sinceMs >= REFUSED_RETRY_MS) return true;
    const version = await this.#secretVersion(key, signal);
    return version !== undefined && version !== refused.secretVersion;
  }

  /** Undefined without a Secret, or without the right to read it. */
  async #secretVersion(key: string, signal: AbortSignal): Promise<string | undefined> {
    const { cluster, objects, references } = this.#options;
    const name = nameOfKey(key);
    const secret = objects.machines.get(name)?.secret;
    if (!secret) return undefined;
    const from = { kind: KINDS.rufioMachine.kind, ...name };
    if (references({ from, to: { kind: "Secret", ...secret } }) !== undefined) return undefined;
    try {
      return (await cluster.find(KINDS.secret, secret, Versioned, signal))?.metadata.resourceVersion;
    } catch (thrown) {
      if (isKubernetesError(thrown, "forbidden")) return undefined;
      throw thrown;
    }
  }

  #failed(key: string, thrown: unknown): number {
    const { log } = this.#options;
    if (thrown instanceof LeaseHeld) return WRITE_RETRY_MS;
    const error = textOf(thrown);
    const facts = { rufioMachine: key, error, waitMs: WRITE_RETRY_MS };
    logOutage(log, !this.#isFailing, facts, "Rufio machine status update failed, retrying");
    this.#isFailing = true;
    return WRITE_RETRY_MS;
  }

  #nextMs(): number {
    const { intervalMs, random } = this.#options;
    return intervalMs * (1 - JITTER + 2 * JITTER * random());
  }
}
